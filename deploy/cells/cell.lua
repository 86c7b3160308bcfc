-- The converter lua.key: the API key in a text. The converter lua.cell: the number of the cell in an API key, in a quote id or in the nonce of a wallet's
-- sign-in, whichever a text has first; an empty text without any. Nothing is verified: the cell does that.

local VALUES = {}
local ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
for at = 1, #ALPHABET do VALUES[ALPHABET:byte(at)] = at - 1 end

-- Returns the 16 bits above the last `after` bytes (a multiple of three) of a base58 number. Keeps no more of
-- the number than that, in limbs of three bytes.
local function bits_above(text, after)
  local limbs = {}
  local last = after // 3 + 1
  for at = 1, last do limbs[at] = 0 end
  for at = 1, #text do
    local carry = VALUES[text:byte(at)]
    if carry == nil then return "" end
    for limb = 1, last do
      local size = limb == last and 65536 or 16777216
      local value = limbs[limb] * 58 + carry
      limbs[limb] = value % size
      carry = value // size
    end
  end
  return string.format("%d", limbs[last])
end

core.register_converters("key", function(text)
  return text:match("sk%-agent%-%w+") or ""
end)

core.register_converters("cell", function(text)
  local key = text:match("sk%-agent%-(%w+)")
  if key then return #key == 50 and bits_above(key, 12) or "" end
  local quote = text:match("qt_(%w+)")
  if quote then return bits_above(quote, 0) end
  local nonce = text:match('"nonce"%s*:%s*"(%w+)"')
  return nonce and bits_above(nonce, 0) or ""
end)
