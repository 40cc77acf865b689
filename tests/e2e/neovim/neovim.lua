-- A headless Neovim with the language server attached, as its users set it up. What a script does with it, and sees, is
-- written as JSON into the file that CLEW_TEST_OUT names.
local workspace, python = vim.env.CLEW_TEST_WORKSPACE, vim.env.CLEW_TEST_PYTHON
local editor = { patience = 60000, seen = { messages = {} } }

vim.lsp.handlers["window/showMessage"] = function(_, result)
  table.insert(editor.seen.messages, result.message)
end

local client = vim.lsp.start_client({
  name = "clew",
  cmd = { python, "-m", "clew", "lsp" },
  root_dir = workspace,
})

function editor.wait(condition, what)
  assert(vim.wait(editor.patience, condition, 20), what)
end

function editor.open(path, line)
  vim.cmd("edit +" .. (line or 1) .. " " .. vim.fn.fnameescape(workspace .. "/" .. path))
  editor.attach()
  editor.wait(function()
    local one = vim.lsp.get_client_by_id(client)
    return one and one.initialized
  end, "the server did not start")
end

function editor.attach()
  vim.lsp.buf_attach_client(0, client)
end

function editor.lenses()
  vim.lsp.codelens.refresh()
  editor.wait(function()
    local lenses = vim.lsp.codelens.get(0)
    for _, lens in ipairs(lenses) do
      if lens.command == nil then
        return false
      end
    end
    return #lenses > 0
  end, "no lenses")
  return vim.tbl_map(function(lens)
    return { line = lens.range.start.line + 1, title = lens.command.title, command = lens.command }
  end, vim.lsp.codelens.get(0))
end

local function floating()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= "" then
      return window
    end
  end
end

function editor.hover()
  vim.lsp.buf.hover()
  editor.wait(function() return floating() ~= nil end, "no hover")
  local lines = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(floating()), 0, -1, false)
  vim.api.nvim_win_close(floating(), true)
  return lines
end

function editor.command(name, ...)
  local told = #editor.seen.messages
  vim.lsp.buf_request(0, "workspace/executeCommand", { command = name, arguments = { ... } }, function() end)
  editor.wait(function() return #editor.seen.messages > told end, name .. " said nothing")
  return editor.seen.messages[#editor.seen.messages]
end

function editor.run(steps)
  local ok, problem = pcall(steps)
  editor.seen.problem = not ok and tostring(problem) or nil
  vim.fn.writefile({ vim.json.encode(editor.seen) }, vim.env.CLEW_TEST_OUT)
  vim.cmd("qall!")
end

return editor
