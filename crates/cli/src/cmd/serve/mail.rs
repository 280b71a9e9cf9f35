//! The way to a mail server, as the command line names it.

use crate::{
    cmd::store::Hidden,
    exit::{Failure, Outcome},
};
use async_trait::async_trait;
use charter_control::{Letter, MailError, Mailer};
use charter_http::PublicUrl;
use lettre::{
    AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor,
    message::{Mailbox, header::ContentType},
    transport::smtp::Error,
};
use std::{net::IpAddr, sync::Arc};

/// Which mail server, and where links lead.
#[derive(Debug, clap::Args)]
pub(crate) struct MailArgs {
    /// Send mail by this server: smtps://USER:PASSWORD@HOST, or smtp://USER:PASSWORD@HOST?tls=required for one that
    /// begins in the clear; `none`: send none, whatever the variable says. Other users of this machine see arguments: a
    /// password is safer in the variable
    #[arg(long, env = "CHARTER_SMTP_URL", hide_env_values = true, value_name = "URL")]
    smtp_url: Option<Hidden>,
    /// From whom mail is, such as `Charter <charter@example.org>`
    #[arg(long, env = "CHARTER_MAIL_FROM", value_name = "ADDRESS")]
    mail_from: Option<String>,
    /// How this installation is called from outside, such as https://charter.example.org: what links begin with, and
    /// where AuthZEN's discovery says that it is; without, as the request calls it
    #[arg(long, env = "CHARTER_PUBLIC_URL", value_name = "URL")]
    public_url: Option<String>,
}

impl MailArgs {
    /// How this installation is called from outside, if that is said.
    pub(crate) fn public_url(&self) -> Outcome<Option<PublicUrl>> {
        let Some(text) = self.public_url.as_deref().map(str::trim).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        text.parse().map(Some).map_err(|why| {
            Failure::usage(format!("`{text}` is not how an installation is called: {why}"))
                .hint("`--public-url` takes something like https://charter.example.org")
        })
    }

    /// Refuses half of what mail takes, before anything is opened.
    pub(crate) fn check(&self) -> Outcome<()> {
        self.public_url()?;
        self.mailer().map(drop)
    }

    /// The way to the mail server, if there is one.
    pub(crate) fn mailer(&self) -> Outcome<Option<Arc<dyn Mailer>>> {
        let Some(url) = self.smtp_url.as_ref().and_then(Hidden::given) else { return Ok(None) };
        let from = self.mail_from.as_deref().filter(|from| !from.trim().is_empty()).ok_or_else(|| {
            Failure::usage("mail needs a sender").hint("`--mail-from 'Charter <charter@example.org>'`")
        })?;
        let from: Mailbox = from.parse().map_err(|_| {
            Failure::usage(format!("`{from}` is no sender"))
                .hint("`--mail-from` takes something like `Charter <charter@example.org>`")
        })?;
        if self.public_url()?.is_none() {
            return Err(Failure::usage("mail needs to know where its links lead")
                .hint("`--public-url https://charter.example.org`"));
        }
        let transport = transport(url)?;
        Ok(Some(Arc::new(Smtp { from, transport })))
    }
}

fn transport(url: &str) -> Outcome<AsyncSmtpTransport<Tokio1Executor>> {
    // Nothing of the address is repeated: it may hold a password.
    let hint = "`CHARTER_SMTP_URL` takes smtps://USER:PASSWORD@HOST, or smtp://…?tls=required";
    let wrong = || Failure::usage("the address of the mail server is not understood").hint(hint);
    let parsed = reqwest::Url::parse(url).map_err(|_| wrong())?;
    let sealed = match parsed.scheme() {
        "smtps" => true,
        "smtp" => parsed.query_pairs().any(|(name, value)| name == "tls" && value == "required"),
        _ => return Err(wrong()),
    };
    if !sealed && !is_here(parsed.host_str().unwrap_or_default()) {
        return Err(Failure::usage("letters hold secrets: the mail server must be reached by TLS").hint(hint));
    }
    Ok(AsyncSmtpTransport::<Tokio1Executor>::from_url(url).map_err(|_| wrong())?.build())
}

/// Whether a host is this machine.
fn is_here(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

struct Smtp {
    from: Mailbox,
    transport: AsyncSmtpTransport<Tokio1Executor>,
}

#[async_trait]
impl Mailer for Smtp {
    async fn send(&self, letter: &Letter) -> Result<(), MailError> {
        let to: Mailbox = letter.to.parse().map_err(|_| MailError::Refused(None))?;
        let message = Message::builder()
            .from(self.from.clone())
            .to(to)
            .subject(letter.subject.clone())
            .header(ContentType::TEXT_PLAIN)
            .body(letter.text.expose().to_owned())
            .map_err(|_| MailError::Refused(None))?;
        self.transport.send(message).await.map(drop).map_err(|error| told(&error))
    }
}

/// What the server replied, as a number: its words may repeat an address.
fn told(error: &Error) -> MailError {
    let code = error.status().and_then(|code| code.to_string().parse().ok());
    if error.is_permanent() { MailError::Refused(code) } else { MailError::Failed(code) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use charter_control::SecretText;
    use tokio::{
        io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
        net::TcpListener,
    };

    fn args(url: &str, from: Option<&str>, public: Option<&str>) -> MailArgs {
        MailArgs {
            smtp_url: url.parse().ok(),
            mail_from: from.map(str::to_owned),
            public_url: public.map(str::to_owned),
        }
    }

    /// A mail server for one letter: what it was told, line by line. It answers `end` to the letter itself.
    async fn server(end: &'static str) -> (u16, tokio::task::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let told = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let (read, mut write) = stream.into_split();
            let (mut lines, mut told, mut letter) = (BufReader::new(read).lines(), Vec::new(), false);
            write.write_all(b"220 here\r\n").await.unwrap();
            while let Ok(Some(line)) = lines.next_line().await {
                told.push(line.clone());
                let answer = match (letter, line.as_str()) {
                    (true, ".") => {
                        letter = false;
                        end
                    }
                    (true, _) => continue,
                    (false, "DATA") => {
                        letter = true;
                        "354 go on"
                    }
                    (false, "QUIT") => break,
                    (false, _) => "250 fine",
                };
                write.write_all(format!("{answer}\r\n").as_bytes()).await.unwrap();
            }
            told
        });
        (port, told)
    }

    fn letter() -> Letter {
        Letter {
            to: "grace@example.org".to_owned(),
            subject: "Einladung für Grace".to_owned(),
            text: SecretText::new("Hello,\n\nhttps://charter.example/invitation#chi_secret\n.\nend\n"),
        }
    }

    async fn sent(end: &'static str) -> (Result<(), MailError>, Vec<String>) {
        let (port, told) = server(end).await;
        let args = args(
            &format!("smtp://127.0.0.1:{port}"),
            Some("Charter <charter@example.org>"),
            Some("https://charter.example"),
        );
        let mailer = args.mailer().unwrap().unwrap();
        let result = mailer.send(&letter()).await;
        drop(mailer);
        (result, told.await.unwrap())
    }

    #[tokio::test]
    async fn a_letter_reaches_a_mail_server_whole() {
        let (result, told) = sent("250 taken").await;
        assert_eq!(result, Ok(()));
        assert!(told.iter().any(|line| line.starts_with("MAIL FROM:<charter@example.org>")), "{told:?}");
        assert!(told.iter().any(|line| line == "RCPT TO:<grace@example.org>"), "{told:?}");
        assert!(told.iter().any(|line| line.starts_with("Content-Type: text/plain")), "{told:?}");
        assert!(told.iter().any(|line| line == "https://charter.example/invitation#chi_secret"), "{told:?}");
        assert!(told.iter().any(|line| line == "end"), "a lone dot ends no letter: {told:?}");
    }

    #[tokio::test]
    async fn what_a_mail_server_refuses_is_told_by_its_number_and_whether_it_is_for_good() {
        assert_eq!(sent("550 no such user grace@example.org").await.0, Err(MailError::Refused(Some(550))));
        assert_eq!(sent("451 later").await.0, Err(MailError::Failed(Some(451))));
        let closed = args("smtp://127.0.0.1:1", Some("c@example.org"), Some("https://charter.example"));
        assert_eq!(closed.mailer().unwrap().unwrap().send(&letter()).await, Err(MailError::Failed(None)));
    }

    #[test]
    fn mail_takes_a_server_reached_by_tls_a_sender_and_where_links_lead() {
        let (from, public) = (Some("c@example.org"), Some("https://charter.example"));
        let refused = |url: &str, from, public| {
            let failure = args(url, from, public).mailer().err().unwrap_or_else(|| panic!("{url} is taken"));
            assert!(!failure.message.contains("hunter2"), "{}", failure.message);
            failure.message
        };
        for url in [
            "smtps://u:hunter2@mail.example",
            "smtp://u:hunter2@mail.example?tls=required",
            "smtp://[::1]:25",
        ] {
            // The transport is made without asking anybody.
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let _inside = runtime.enter();
            assert!(args(url, from, public).mailer().unwrap().is_some(), "{url}");
        }
        for url in ["smtp://u:hunter2@mail.example", "smtp://u:hunter2@mail.example?tls=opportunistic"] {
            assert!(refused(url, from, public).contains("TLS"), "{url}");
        }
        refused("http://u:hunter2@mail.example", from, public);
        refused("hunter2", from, public);
        assert!(refused("smtps://mail.example", None, public).contains("sender"));
        refused("smtps://mail.example", Some("nobody"), public);
        assert!(refused("smtps://mail.example", from, None).contains("links"));
        for public in ["charter.example", "ftp://charter.example", "https://x/?a=b", "https://x/#a"] {
            refused("smtps://mail.example", from, Some(public));
        }
        assert!(args("none", None, None).mailer().unwrap().is_none());
    }
}
