"""Buys a tool call and pays gasless: in USDC, without SOL or a Solana library. pip install cryptography

TOOLGATE_URL=http://127.0.0.1:8080 TOOLGATE_KEY=sk-agent-… WALLET=wallet.json python3 buy.py"""
import base64, json, os, sys, time, urllib.error, urllib.request

CALL = {"tool": "vram_estimate", "params": {"model": "llama-3.1-8b", "context_length": 8192}}
MAX_PRICE = 10_000  # micro-USD
USDC = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
MOVE_NOTHING = {"ComputeBudget111111111111111111111111111111", "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"}
for name, dev in {"TOOLGATE_URL": "base_url", "TOOLGATE_KEY": "api_key"}.items():
    if not os.environ.get(name):
        known = f"node -p \"require('./.toolgate/dev.json').{dev}\""
        sys.exit(f"{name} is not set. Beside npm start: export {name}=$({known})")
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def post(path, body, **headers):
    headers |= {"Authorization": "Bearer " + os.environ["TOOLGATE_KEY"], "Content-Type": "application/json"}
    request = urllib.request.Request(os.environ["TOOLGATE_URL"] + path, json.dumps(body).encode(), headers)
    try:
        return 200, json.load(urllib.request.urlopen(request, timeout=60))
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
    except urllib.error.URLError as error:
        sys.exit(f"{os.environ['TOOLGATE_URL']}: {error.reason}; is it running? (npm start)")


def base58(key):
    number, text = int.from_bytes(key, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = BASE58[digit] + text
    return "1" * (len(key) - len(key.lstrip(b"\0"))) + text


def compact(data, at):  # returns a length of one to three bytes, and the next offset
    value = shift = 0
    while True:
        value, shift, at = value | (data[at] & 127) << shift, shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def moves_only(message, payer, pay_to, amount):
    """Returns whether the message moves this amount of USDC from payer to pay_to, and nothing else."""
    at = 1 if message[0] == 128 else 0  # version 0; legacy messages have no version byte
    count, at = compact(message, at + 3)
    keys = [base58(message[at + 32 * i : at + 32 * i + 32]) for i in range(count)]
    count, at = compact(message, at + 32 * len(keys) + 32)
    transfers = []
    for _ in range(count):
        program, (length, at) = keys[message[at]], compact(message, at + 1)
        accounts, (size, at) = [keys[i] for i in message[at : at + length]], compact(message, at + length)
        if program not in MOVE_NOTHING:
            transfers.append((program, accounts[1:], message[at : at + size]))
        at += size
    checked = b"\x0c" + amount.to_bytes(8, "little") + b"\x06"  # TransferChecked, with USDC's six decimals
    return keys[0] != payer and transfers == [(TOKEN, [USDC, pay_to, payer], checked)]  # keys[0] pays the fee


def pay(offer):
    """Signs the transaction that pays the offer; returns the value of X-Payment."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    wallet = bytes(json.load(open(os.environ["WALLET"])))
    payer, quote_id = base58(wallet[32:]), offer["quote"]["quote_id"]
    price = offer["quote"]["price_usdc_microusd"]
    status, built = post("/v1/payments/transaction", {"quote_id": quote_id, "payer": payer})
    if status != 200:
        sys.exit(f"no transaction: {built['message']}")
    message = base64.b64decode(built["message"])
    transaction = bytearray(base64.b64decode(built["transaction"]))
    if price > MAX_PRICE or not moves_only(message, payer, offer["payment_instructions"]["pay_to"], price):
        sys.exit(f"not signed: it is not a payment of at most {MAX_PRICE} micro-USD")
    transaction[65:129] = Ed25519PrivateKey.from_private_bytes(wallet[:32]).sign(message)
    proof = {"transaction": base64.b64encode(transaction).decode(), "quote_id": quote_id}
    return base64.urlsafe_b64encode(json.dumps(proof).encode()).decode()


status, answer = post("/v1/mcp/tools/call", CALL)
if answer.get("code") == "PAYMENT_REQUIRED":
    proof = pay(answer)
    status, answer = post("/v1/mcp/tools/call", CALL, **{"X-Payment": proof})
    while status == 503:  # not confirmed yet: the same proof again, never a second payment
        time.sleep(2)
        status, answer = post("/v1/mcp/tools/call", CALL, **{"X-Payment": proof})
if status != 200:
    sys.exit(f"{answer['code']}: {answer['message']}")
print(json.dumps(answer["receipt"]))
