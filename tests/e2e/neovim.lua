-- Does in a headless Neovim what a user does, and writes what they see as JSON into the file that CLEW_TEST_OUT names.
local workspace, python = vim.env.CLEW_TEST_WORKSPACE, vim.env.CLEW_TEST_PYTHON
local PATIENCE = 60000
local seen = { messages = {} }

vim.lsp.handlers["window/showMessage"] = function(_, result)
  table.insert(seen.messages, result.message)
end

local client = vim.lsp.start_client({
  name = "clew",
  cmd = { python, "-m", "clew", "lsp" },
  root_dir = workspace,
})

local function open(path, line)
  vim.cmd("edit +" .. line .. " " .. vim.fn.fnameescape(workspace .. "/" .. path))
  vim.lsp.buf_attach_client(0, client)
  assert(vim.wait(PATIENCE, function()
    local one = vim.lsp.get_client_by_id(client)
    return one and one.initialized
  end, 20), "the server did not start")
end

local function floating()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= "" then
      return window
    end
  end
end

local function run()
  local line = tonumber(vim.env.CLEW_TEST_FUNCTION_LINE)
  open("chunkstore/index.py", line)
  vim.lsp.codelens.refresh()
  assert(vim.wait(PATIENCE, function()
    local lenses = vim.lsp.codelens.get(0)
    for _, lens in ipairs(lenses) do
      if lens.command == nil then
        return false
      end
    end
    return #lenses > 0
  end, 50), "no lenses")
  seen.lenses = vim.tbl_map(function(lens)
    return { line = lens.range.start.line + 1, title = lens.command and lens.command.title or "" }
  end, vim.lsp.codelens.get(0))

  vim.cmd("normal! ^w")
  vim.lsp.buf.hover()
  assert(vim.wait(PATIENCE, function() return floating() ~= nil end, 20), "no hover")
  seen.hover = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(floating()), 0, -1, false)
  vim.api.nvim_win_close(floating(), true)

  open(vim.env.CLEW_TEST_LOG, tonumber(vim.env.CLEW_TEST_LOG_LINE))
  vim.lsp.buf.definition()
  assert(vim.wait(PATIENCE, function()
    return vim.endswith(vim.api.nvim_buf_get_name(0), "server.py")
  end, 20), "the definition was not opened")
  seen.definition = { file = vim.api.nvim_buf_get_name(0), line = vim.fn.line(".") }

  vim.lsp.buf_attach_client(0, client)
  local function command(name, argument)
    local told = #seen.messages
    vim.lsp.buf_request(0, "workspace/executeCommand", { command = name, arguments = argument and { argument } or nil }, function() end)
    assert(vim.wait(PATIENCE, function() return #seen.messages > told end, 20), name .. " said nothing")
    return seen.messages[#seen.messages]
  end
  seen.walk = {
    command("clew.walk.start", { target = { text = vim.env.CLEW_TEST_ERROR }, run = "failed-write" }),
    command("clew.walk.cause"),
    command("clew.walk.back"),
  }
end

local ok, problem = pcall(run)
seen.problem = not ok and tostring(problem) or nil
vim.fn.writefile({ vim.json.encode(seen) }, vim.env.CLEW_TEST_OUT)
vim.cmd("qall!")
