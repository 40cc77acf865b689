"""The lock of a connection is kept after a failed login: cole/aiosmtplib#248 (and #38, #243); right since 3.0.2.

The maintainers: `connect` takes the lock and gives it back only in `close`, which it does not call when the login fails.
"""

import asyncio
import logging

import aiosmtplib

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("mailer")
REPLIES = {b"EHLO": b"250-mail\r\n250 AUTH PLAIN\r\n", b"AUTH": b"235 welcome\r\n", b"QUIT": b"221 bye\r\n"}
logins: list[bytes] = []


async def mail_server(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 mail\r\n")
    while line := await reader.readline():
        reply = REPLIES.get(line[:4].upper(), b"250 ok\r\n")
        if line.upper().startswith(b"AUTH"):
            logins.append(line)
            if len(logins) == 1:
                reply = b"535 try again later\r\n"
        writer.write(reply)
    writer.close()


async def sign_in(client: aiosmtplib.SMTP) -> None:
    try:
        async with asyncio.timeout(1.5):
            await client.connect()
            await client.quit()
            log.info("signed in")
    except aiosmtplib.SMTPAuthenticationError as error:
        log.info("not signed in: %s", error.message)
    except TimeoutError:
        log.error("signing in takes too long")


async def main() -> None:
    server = await asyncio.start_server(mail_server, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client = aiosmtplib.SMTP(hostname="127.0.0.1", port=port, username="shop", password="secret", start_tls=False)
    await asyncio.create_task(sign_in(client), name="morning-check")
    await asyncio.sleep(0.2)
    await asyncio.create_task(sign_in(client), name="noon-check")
    client.close()
    await asyncio.sleep(0.1)


asyncio.run(main())
