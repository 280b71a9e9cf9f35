// The pages that links in letters lead to. The secret stands behind `#`, which no browser sends to a server; it is
// taken out of the address at once, so that neither the history nor a look over the shoulder keeps it.
"use strict";

(() => {
  const element = (id) => document.getElementById(id);
  const main = document.querySelector("main");
  const form = element("form");
  const told = element("told");
  const submit = element("submit");
  const reveal = element("reveal");
  const password = element("password");
  const fields = ["secret", "display_name", "password"].map(element).filter((field) => field !== null);
  const asked = submit.textContent;
  let secret = "";

  // A whole link, or only what stands behind `#` in it.
  const secretOf = (text) => text.trim().split("#").pop();

  const takeFromAddress = () => {
    if (location.hash.length <= 1) return;
    secret = secretOf(location.hash);
    history.replaceState(null, "", location.pathname);
    element("secret").value = "";
    show("");
  };

  const begin = () => {
    takeFromAddress();
    element("secret-field").hidden = secret !== "";
    element("secret").required = secret === "";
    form.hidden = false;
  };

  // What is told is text, whoever wrote it.
  const show = (text) => {
    told.textContent = text;
    told.classList.toggle("bad", text !== "");
  };

  const mark = (wrong) => {
    for (const field of fields) {
      if (field === wrong) field.setAttribute("aria-invalid", "true");
      else field.removeAttribute("aria-invalid");
    }
  };

  const busy = (is) => {
    form.setAttribute("aria-busy", String(is));
    submit.disabled = is;
    submit.textContent = is ? submit.dataset.busy : asked;
  };

  const fail = (problem) => {
    show(problem.detail || "It did not work. Try again in a while.");
    // A link that does not work may have been cut short: it can be given anew.
    if (problem.code === "invalid_link") {
      secret = "";
      element("secret-field").hidden = false;
      element("secret").required = true;
    }
    const named = problem.code === "invalid_link" ? "secret" : problem.field;
    const wrong = fields.find((field) => field.name === named);
    mark(wrong);
    (wrong || told).focus();
  };

  const done = (answer) => {
    secret = "";
    form.reset();
    if (answer && answer.username && element("username")) {
      element("username").textContent = answer.username;
      element("as").hidden = false;
    }
    element("ask").hidden = true;
    element("done").hidden = false;
    document.title = element("done-title").textContent;
    element("done-title").focus();
  };

  const post = async () => {
    const body = { secret: secret || secretOf(element("secret").value), password: password.value };
    const name = element("display_name");
    if (name && name.value.trim() !== "") body.display_name = name.value.trim();
    if (!body.secret.startsWith(main.dataset.prefix)) {
      return fail({ code: "invalid_link", detail: "This is not the whole link. Copy it from your letter again." });
    }
    const answer = await fetch(main.dataset.post, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      referrerPolicy: "no-referrer",
    });
    const text = await answer.text();
    let read = null;
    try {
      read = JSON.parse(text);
    } catch {
      // 204 has no body, and what stands between may answer anything.
    }
    if (answer.ok) done(read);
    else fail(read || {});
  };

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    show("");
    mark(null);
    busy(true);
    try {
      await post();
    } catch {
      fail({ detail: "The server can't be reached. Try again in a while." });
    } finally {
      busy(false);
    }
  });

  reveal.addEventListener("click", () => {
    const shown = password.type === "text";
    password.type = shown ? "password" : "text";
    reveal.textContent = shown ? "Show" : "Hide";
    reveal.setAttribute("aria-label", `${reveal.textContent} the password`);
  });

  // Another link opened on the page that stands already.
  addEventListener("hashchange", begin);
  begin();
})();
