// An OpenID provider on loopback for the tests: npm's `oidc-provider`, in which everybody is who he says he is.
//
// usage: node oidc_provider.mjs PORT REDIRECT_URI; the client's secret is in CLIENT_SECRET.
// It prints `ready` when it listens.

import { Provider } from 'oidc-provider';

const [port, redirect] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const grants = ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'];
const client = {
  redirect_uris: [redirect],
  grant_types: grants,
  response_types: ['code'],
};

const provider = new Provider(issuer, {
  clients: [
    { ...client, client_id: 'charter', client_secret: process.env.CLIENT_SECRET },
    { ...client, client_id: 'public', token_endpoint_auth_method: 'none' },
    { ...client, client_id: 'posting', client_secret: process.env.CLIENT_SECRET, token_endpoint_auth_method: 'client_secret_post' },
  ],
  claims: { openid: ['sub'], email: ['email', 'email_verified'] },
  conformIdTokenClaims: false,
  cookies: { keys: ['for tests alone'] },
  features: { deviceFlow: { enabled: true } },
  // What it says of an address is not to be believed: `mallory` says that he has the administrator's.
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, email: `${id === 'mallory' ? 'ada' : id}@example.org`, email_verified: true }),
  }),
  pkce: { required: () => true },
});

provider.listen(Number(port), '127.0.0.1', () => console.log('ready'));
