//! Invitations and forgotten passwords, from the command line to a mail server and back.

use crate::support::{Home, PASSWORD, Server};
use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

/// A mail server on a free port: every letter it takes, whole.
fn mail_server() -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (send, letters) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut write = stream.unwrap();
            let send = send.clone();
            std::thread::spawn(move || {
                let lines = BufReader::new(write.try_clone().unwrap()).lines();
                write.write_all(b"220 here\r\n").unwrap();
                let mut letter: Option<String> = None;
                for line in lines.map_while(Result::ok) {
                    let answer = match (letter.as_mut(), line.as_str()) {
                        (Some(_), ".") => {
                            send.send(letter.take().unwrap()).unwrap();
                            "250 taken"
                        }
                        (Some(text), line) => {
                            text.push_str(line);
                            text.push('\n');
                            continue;
                        }
                        (None, "DATA") => {
                            letter = Some(String::new());
                            "354 go on"
                        }
                        (None, _) => "250 fine",
                    };
                    write.write_all(format!("{answer}\r\n").as_bytes()).unwrap();
                }
            });
        }
    });
    (port, letters)
}

fn link_in(letter: &str) -> String {
    // A line that was too long is continued after `=`.
    let text = letter.replace("=\n", "");
    text.lines().find(|line| line.contains('#')).unwrap_or_else(|| panic!("{letter}")).trim().to_owned()
}

fn taken(home: &Home, verb: &[&str], link: &str, password: &str) -> crate::support::Ran {
    home.run_with(&[verb, &["--stdin"]].concat(), &format!("{link}\n{password}\n"))
}

#[test]
fn who_is_invited_by_mail_signs_in_and_gets_over_a_forgotten_password() {
    let data = tempfile::tempdir().unwrap();
    let (port, letters) = mail_server();
    let smtp = format!("smtp://127.0.0.1:{port}");
    let server = Server::start_with(
        data.path(),
        &[
            ("CHARTER_SMTP_URL", &smtp),
            ("CHARTER_MAIL_FROM", "Charter <charter@example.org>"),
            ("CHARTER_PUBLIC_URL", "https://charter.example"),
        ],
    );
    let ada = server.set_up();
    let grace = Home::at(&server);
    ada.run("user invite grace --email grace@example.org").is(0, "", "Invitation of grace is on its way.\n");
    let letter = letters.recv_timeout(Duration::from_secs(30)).unwrap();
    assert!(letter.contains("To: grace@example.org"), "{letter}");
    let first = link_in(&letter);
    assert!(first.starts_with("https://charter.example/invitation#chi_"), "{letter}");
    ada.run("invitation resend grace").is(0, "", "Invitation of grace is on its way.\n");
    let second = link_in(&letters.recv_timeout(Duration::from_secs(30)).unwrap());
    taken(&grace, &["invitation", "accept"], &first, PASSWORD)
        .fails(1, "the link does not work, or no longer");
    taken(&grace, &["invitation", "accept"], &second, PASSWORD).is(
        0,
        "",
        "Your account works: `charter login grace` signs you in.\n",
    );
    grace.run_with(&["login", "grace", "--password-stdin"], PASSWORD).done();

    for name in ["grace", "nobody"] {
        let ran = grace.run(&format!("forgot-password {name}")).done();
        assert!(ran.stderr.starts_with("If there is such an account"), "{}", ran.stderr);
    }
    let link = link_in(&letters.recv_timeout(Duration::from_secs(30)).unwrap());
    let secret = link.rsplit('#').next().unwrap();
    taken(&grace, &["reset-password"], secret, "another good password").done();
    grace.run("whoami").fails(4, "login");
    grace.run_with(&["login", "grace", "--password-stdin"], "another good password").done();
    taken(&grace, &["reset-password"], secret, "another good password").fails(1, "the link does not work");
    let sent = "A link for another password of grace is on its way.\n";
    ada.run("user reset-link grace").is(0, "", sent);
    grace.run("whoami").fails(4, "login");
    let link = link_in(&letters.recv_timeout(Duration::from_secs(30)).unwrap());
    assert!(link.starts_with("https://charter.example/reset-password#chr_"), "{link}");
    taken(&grace, &["reset-password"], &link, PASSWORD).done();
    grace.run_with(&["login", "grace", "--password-stdin"], PASSWORD).done();
    ada.run("user reset-link ada").fails(5, "no link replaces an administrator's password");
    assert!(letters.try_recv().is_err(), "nobody else is written to");
}

#[test]
fn without_mail_the_link_is_printed_once() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let (ada, grace) = (server.set_up(), Home::at(&server));
    let ran = ada.run("user invite grace --email grace@example.org").done();
    let secret = ran.stdout.trim().to_owned();
    assert!(secret.starts_with("chi_") && ran.stderr.contains("it is shown once"), "{ran:?}");
    taken(&grace, &["invitation", "accept", "--name", "Grace"], &secret, PASSWORD).done();
    grace.run("forgot-password grace").fails(5, "an administrator can set another password");
    ada.run("user invite bob").done();
    let waiting = ada.run("invitation ls").done().stdout;
    assert!(waiting.starts_with("USERNAME  UNTIL") && waiting.contains("bob"), "{waiting}");
    let ran = ada.run("user reset-link grace").done();
    let secret = ran.stdout.trim();
    assert!(secret.starts_with("chr_") && ran.stderr.contains("`charter reset-password`"), "{ran:?}");
    taken(&grace, &["reset-password"], secret, "another good password").done();
    ada.run("invitation withdraw bob").fails(2, "--yes");
    ada.run("invitation withdraw bob --yes").done();
    ada.run("user create robot --kind service").done();
    let token = ada.run("token create nightly --for robot --only core.user.read").done().stdout;
    assert!(token.starts_with("cht_"));
    ada.run("token ls --for robot -o name").done();
}

#[test]
fn a_server_does_not_start_with_half_of_what_mail_takes() {
    let home = Home::new();
    let started = |variables: &[(&str, &str)]| home.run_in(variables, "serve --listen 127.0.0.1:0 --data d");
    started(&[("CHARTER_SMTP_URL", "smtps://mail.example")]).fails(2, "mail needs a sender");
    started(&[
        ("CHARTER_SMTP_URL", "smtp://u:hunter2@mail.example"),
        ("CHARTER_MAIL_FROM", "a@b.example"),
        ("CHARTER_PUBLIC_URL", "https://x.example"),
    ])
    .fails(2, "must be reached by TLS");
}
