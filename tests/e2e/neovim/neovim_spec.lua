-- Does in Neovim what a user does in a spec: sees what is wrong and has it mended, completes, asks, follows, renames, formats, and makes rules from Python.
local editor = dofile(vim.env.CLEW_TEST_EDITOR)
local seen = editor.seen

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
end

local function until_text_has(part)
  editor.wait(function() return text():find(part, 1, true) ~= nil end, part .. " is not in " .. text())
end

editor.run(function()
  vim.g.do_filetype_lua = 1 -- as it is from 0.8 on
  vim.cmd("filetype on")
  vim.filetype.add({ extension = { esl = "esl" } })
  editor.open("shop.esl", 2)
  seen.filetype = vim.bo.filetype
  editor.wait(function() return #vim.diagnostic.get(0) > 0 end, "no diagnostics")
  seen.diagnostics = vim.tbl_map(function(one) return one.message end, vim.diagnostic.get(0))

  vim.ui.select = function(items, options, choose)
    seen.actions = vim.tbl_map(options.format_item, items)
    choose(items[1], 1)
  end
  vim.fn.cursor(2, 12)
  vim.lsp.buf.code_action()
  until_text_has("shop.app:order")
  editor.wait(function() return #vim.diagnostic.get(0) == 0 end, "what was mended is still wrong")

  vim.api.nvim_buf_set_lines(0, 2, 3, false, { "payload   shop.app:Stock.sell value this.pr" })
  vim.fn.cursor(3, 100)
  vim.cmd("startinsert!")
  local params = vim.lsp.util.make_position_params()
  params.position.character = #vim.api.nvim_get_current_line()
  local answers = vim.lsp.buf_request_sync(0, "textDocument/completion", params, editor.patience)
  local proposals = vim.lsp.util.text_document_completion_list_to_complete_items(select(2, next(answers)).result, "pr")
  seen.proposals = vim.tbl_map(function(one) return { word = one.word, detail = one.menu } end, proposals)
  vim.cmd("stopinsert")
  vim.api.nvim_buf_set_lines(0, 2, 3, false, { "payload   shop.app:Stock.sell value this." .. proposals[1].word .. ";" })
  vim.lsp.buf.formatting_sync(nil, editor.patience)
  until_text_has("payload shop.app:Stock.sell value this.price;")

  vim.fn.cursor(2, 20)
  seen.hover = editor.hover()
  seen.lenses = editor.lenses()
  seen.told = editor.command(seen.lenses[1].command.command, unpack(seen.lenses[1].command.arguments))

  vim.fn.cursor(4, 34)
  vim.lsp.buf.rename("buy")
  until_text_has("as buy;\nreceive shop.app:take key item as buy;")
  seen.text = text()

  vim.cmd("silent write")
  vim.fn.cursor(2, 1)
  vim.lsp.buf.definition()
  editor.wait(function() return #vim.fn.getqflist() > 0 end, "no functions are listed")
  seen.listed = vim.tbl_map(function(one) return one.lnum end, vim.fn.getqflist())

  editor.open("shop/app.py", 9)
  vim.fn.cursor(9, 6)
  vim.fn.setqflist({})
  vim.lsp.buf.references()
  editor.wait(function() return #vim.fn.getqflist() > 0 end, "no rules are listed")
  seen.rules = vim.tbl_map(function(one) return one.lnum .. ": " .. one.text end, vim.fn.getqflist())
  vim.cmd("cclose")
  vim.ui.select = function(items, options, choose)
    seen.python_actions = vim.tbl_map(options.format_item, items)
    for _, item in ipairs(items) do
      if options.format_item(item):find("mark this as a request", 1, true) then
        choose(item, 1)
      end
    end
  end
  vim.fn.cursor(9, 6)
  vim.lsp.buf.code_action()
  editor.wait(function() return seen.python_actions ~= nil end, "no actions in a Python file")
  editor.open("shop.esl", 1)
  until_text_has("request shop.app:order")
  seen.added = text()
end)
