"""SSH server of the tests: one host, which runs commands by the shell. Prints its port, then serves."""

from __future__ import annotations

import asyncio
import contextlib
import sys

import asyncssh


async def serve(process: asyncssh.SSHServerProcess) -> None:
    """Runs one command, whose input ends with its channel; like other servers, it ends nothing itself."""
    shell = await asyncio.create_subprocess_exec(
        "sh",
        "-c",
        process.command or "",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    # A client that closes a channel is no reason to close its connection.
    with contextlib.suppress(Exception):
        await process.redirect(stdin=shell.stdin, stdout=shell.stdout, stderr=shell.stderr)
        closed, ended = asyncio.ensure_future(process.wait_closed()), asyncio.ensure_future(shell.wait())
        await asyncio.wait({closed, ended}, return_when=asyncio.FIRST_COMPLETED)
        if shell.returncode is not None:
            process.exit(shell.returncode)
    shell.stdin.close()


async def main(keys: str) -> None:
    """Serves until the process is killed."""
    server = await asyncssh.create_server(
        asyncssh.SSHServer,
        "127.0.0.1",
        0,
        server_host_keys=[f"{keys}/host"],
        authorized_client_keys=f"{keys}/user.pub",
        process_factory=serve,
        encoding=None,
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.Event().wait()


asyncio.run(main(sys.argv[1]))
