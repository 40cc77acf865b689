-- Does in Neovim what a user does in the files of a recorded program.
local editor = dofile(vim.env.CLEW_TEST_EDITOR)
local seen = editor.seen

editor.run(function()
  editor.open("chunkstore/index.py", vim.env.CLEW_TEST_FUNCTION_LINE)
  seen.lenses = editor.lenses()

  vim.cmd("normal! ^w")
  seen.hover = editor.hover()

  editor.open(vim.env.CLEW_TEST_LOG, vim.env.CLEW_TEST_LOG_LINE)
  vim.lsp.buf.definition()
  editor.wait(function()
    return vim.endswith(vim.api.nvim_buf_get_name(0), "server.py")
  end, "the definition was not opened")
  seen.definition = { file = vim.api.nvim_buf_get_name(0), line = vim.fn.line(".") }

  editor.attach()
  seen.walk = {
    editor.command("clew.walk.start", { target = { text = vim.env.CLEW_TEST_ERROR }, run = "failed-write" }),
    editor.command("clew.walk.cause"),
    editor.command("clew.walk.back"),
  }
end)
