"""`clew lsp`: run the language server over stdin and stdout."""

from __future__ import annotations

import click


@click.command()
@click.option("--stdio", is_flag=True, help="Use stdio (the default; accepted for compatibility).")
def lsp(stdio: bool) -> int:
    """Start the language server for an editor. It speaks the Language Server Protocol over stdin and stdout.

    \b
    Examples:
      Neovim    vim.lsp.config.clew = { cmd = { 'clew', 'lsp' }, filetypes = { 'python', 'esl', 'log' } }
      Helix     [language-server.clew]
                command = "clew"
                args = ["lsp"]
    """
    from clew.server.lsp.server import serve_stdio

    return serve_stdio()
