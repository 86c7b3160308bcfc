import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { useWorld } from "../support/use-world.ts";
import { type Agent } from "../support/world.ts";
import { expectRefused, expectWellBehaved, type TextAnswer } from "./well-behaved.ts";

/** Invalid bodies at both paths are refused with 4xx before anything happens. */

const PATHS = ["/v1/mcp/tools/call", "/mcp"] as const;

const world = useWorld();
let agent: Agent;

beforeAll(async () => void (agent = await world.agent({ balance: 1_000_000n })));
afterEach(async () => {
  expect((await fetch(`${world.gateway.baseUrl}/health`)).status).toBe(200);
});
afterAll(async () => {
  const balance = (await world.call(agent, "get_status", {})).body.result.balance_usdc;
  expect(balance).toBe("1.000000");
  expect((await world.get(agent, "/runs")).body.items).toEqual([]);
});

async function send(path: string, body: string | Uint8Array<ArrayBuffer>): Promise<TextAnswer> {
  const headers = { Authorization: `Bearer ${agent.apiKey}`, "Content-Type": "application/json" };
  const response = await fetch(world.gateway.baseUrl + path, { method: "POST", headers, body });
  return { status: response.status, headers: response.headers, body: await response.text() };
}

const call = (params: string, more = "") => `{"tool":"vram_estimate","params":${params}${more}}`;
const rpc = (args: string) =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"vram_estimate","arguments":${args}}}`;
const lists = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
const objects = (depth: number, name = "a") => `{"${name}":`.repeat(depth) + "1" + "}".repeat(depth);
const utf8 = (...bytes: number[]) =>
  new Uint8Array([...Buffer.from('{"tool":"'), ...bytes, ...Buffer.from('","params":{}}')]);

describe.each(PATHS)("POST %s with an invalid body", (path) => {
  const bodies: [name: string, body: string | Uint8Array<ArrayBuffer>][] = [
    ["nothing", ""],
    ["white space", " \r\n\t"],
    ["half an object", '{"tool":"echo"'],
    ["two objects", "{}{}"],
    ["a trailing comma", '{"tool":"echo","params":{},}'],
    ["single quotes", "{'tool':'echo'}"],
    ["a comment", '{"tool":"echo"/**/,"params":{}}'],
    ["NaN", call('{"parameters_b":NaN}')],
    ["Infinity", call('{"parameters_b":Infinity}')],
    ["a leading zero", call('{"parameters_b":01}')],
    ["a hexadecimal number", call('{"parameters_b":0x10}')],
    ["a raw control character in a string", '{"tool":"ec\u0001ho","params":{}}'],
    ["a bad escape", '{"tool":"\\x41","params":{}}'],
    ["half an escape", '{"tool":"\\u00","params":{}}'],
    ["null", "null"],
    ["true", "true"],
    ["a number", "1"],
    ["a string", '"tool"'],
    ["a list", "[]"],
    ["an empty object", "{}"],
    ["two byte order marks", "\ufeff\ufeff{}"],
    ["UTF-16", new Uint8Array(Buffer.from(call("{}"), "utf16le"))],
    ["a byte that is not UTF-8", utf8(0xff)],
    ["half a UTF-8 sequence", utf8(0xc3)],
    ["an overlong UTF-8 sequence", utf8(0xc0, 0x80)],
    ["a surrogate in UTF-8", utf8(0xed, 0xa0, 0x80)],
    ["a code point beyond Unicode", utf8(0xf5, 0x80, 0x80, 0x80)],
    ["100,000 nested lists", lists(100_000)],
    ["100,000 nested objects", objects(100_000)],
    ["100,000 lists that never end", "[".repeat(100_000)],
    ["100,000 lists as a parameter", call(`{"model":${lists(100_000)}}`)],
    ["100,000 objects as params", call(objects(100_000))],
    ["100,000 objects under __proto__", call(objects(100_000, "__proto__"))],
    ["65 levels", call(objects(65))],
    ["2 MiB", JSON.stringify({ tool: "echo", params: { message: "x".repeat(2 * 1024 * 1024) } })],
    ["2 MiB of white space", " ".repeat(2 * 1024 * 1024)],
    ["100,000 members", `{${Array.from({ length: 100_000 }, (_, index) => `"a${index}":1`).join(",")}}`],
    ["a member with a name of 500 KiB", `{"${"a".repeat(500_000)}":1}`],
    ["a number of 500,000 digits", `{"tool":${"9".repeat(500_000)},"params":{}}`],
  ];
  it.each(bodies)("refuses %s", async (_, body) => {
    expectRefused(await send(path, body));
  });
});

describe("every field of the tool call", () => {
  const members = [
    "tool",
    "params",
    "payment_proof",
    "idempotency_key",
    "payment_proof.tx_ref",
    "payment_proof.network",
    "payment_proof.amount_usdc",
    "payment_proof.memo",
    "payment_proof.quote_id",
    "payment_proof.step_id",
    "params.model",
    "params.parameters_b",
    "params.dtype",
    "params.context_length",
  ];
  const wrong = [
    "true",
    "[]",
    "[{}]",
    "{}",
    '{"a":1}',
    "1e400",
    "-1e400",
    "18446744073709551616",
    "-0",
    "1.5",
    '"\\ud800"',
    '"\\u0000"',
    '""',
    `"${"x".repeat(10_000)}"`,
  ];
  const good = {
    tool: '"vram_estimate"',
    params: { model: '"llama-3.1-8b"' },
    payment_proof: { tx_ref: `"${"1".repeat(64)}"`, network: '"solana-mainnet"', quote_id: '"qt_1"' },
  };

  it.each(PATHS)(
    "is refused at %s for other types, out-of-range numbers, lone surrogates and NUL",
    async (path) => {
      for (const member of members) {
        for (const value of wrong) {
          const answer = await send(path, withMember(good, member, value));
          expectRefused(answer);
          expect(answer.status, `${member} = ${value.slice(0, 40)}`).toBeLessThan(413);
        }
      }
    },
  );

  it.each([
    "__proto__",
    "constructor",
    "prototype",
    "toString",
    "hasOwnProperty",
    "\\u0000",
    "",
    "\\ud800",
    "$typeName",
  ])("allows no field named %j at any depth", async (name) => {
    for (const value of ["1", "null", "{}", '{"tool":"echo"}', '{"polluted":true}']) {
      const member = `"${name}":${value}`;
      const bodies = [
        `{${member}}`,
        call('{"model":"llama-3.1-8b"}', `,${member}`),
        call(`{${member}}`),
        call(`{"model":{${member}}}`),
        call(`{"model":"llama-3.1-8b",${member}}`),
        call('{"model":"llama-3.1-8b"}', `,"payment_proof":{${member}}`),
      ];
      for (const body of bodies) for (const path of PATHS) expectRefused(await send(path, body));
    }
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

describe("MCP's tools/call", () => {
  it("returns invalid arguments as a result, at any depth and with any characters", async () => {
    const bad = [
      objects(65),
      objects(5_000),
      objects(10_000),
      '{"model":"\\ud800"}',
      '{"model":"\\u0000"}',
      '{"parameters_b":1e400}',
      '{"__proto__":{"model":"llama-3.1-8b"}}',
      '{"\\ud800":1}',
    ];
    for (const args of bad) {
      const answer = await send("/mcp", rpc(args));
      expectWellBehaved(answer);
      expect(JSON.parse(answer.body)).toMatchObject({ id: 1, result: { isError: true } });
    }
  });

  it("accepts nesting and unusual characters everywhere else", async () => {
    const bodies = [
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":${objects(10_000)}}`,
      `{"jsonrpc":"2.0","id":${lists(30_000)},"method":"ping"}`,
      `{"jsonrpc":"2.0","id":1,"method":"\\ud800"}`,
      `{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}`,
      `{"jsonrpc":"2.0","id":1e400,"method":"ping"}`,
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800"}}`,
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${"a".repeat(127)}😀"}}`,
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"__proto__":{"name":"echo"}}}`,
      `{"jsonrpc":"2.0","id":1,"method":"__proto__"}`,
      `{"__proto__":{"jsonrpc":"2.0"},"id":1,"method":"ping"}`,
      `{"jsonrpc":"2.0","__proto__":{"id":1},"method":"ping"}`,
      `{"jsonrpc":${lists(1000)}}`,
    ];
    for (const body of bodies) expectWellBehaved(await send("/mcp", body));
  });
});

describe("unusual but valid bodies", () => {
  it.each([
    ["a byte order mark (RFC 8259 section 8.1)", '\ufeff{"tool":"echo","params":{"message":"a"}}'],
    ["escapes instead of characters", '{"\\u0074ool":"\\u0065cho","params":{"message":"\\u0061"}}'],
    ["white space everywhere", ' \n{ "tool" :\t"echo" , "params" : { "message" : "a" } }\r\n'],
    [
      "null for what is left out",
      '{"tool":"echo","params":{"message":"a"},"payment_proof":null,"idempotency_key":null}',
    ],
    ["the last of two members of one name", '{"tool":"get_status","tool":"echo","params":{"message":"a"}}'],
  ])("accepts %s", async (_, body) => {
    const answer = await send("/v1/mcp/tools/call", body);
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body)).toEqual({ ok: true, result: { echo: "a" } });
  });

  it("accepts params nested 62 levels deep", async () => {
    const answer = await send("/v1/mcp/tools/call", call(objects(62)));
    expect(JSON.parse(answer.body).message).toMatch(/^params\.a: is unknown/);
  });
});

/** The good call as JSON text, with one member, given by its path, replaced. */
function withMember(
  good: Record<string, string | Record<string, string>>,
  path: string,
  value: string,
): string {
  const [first = "", second] = path.split(".");
  const members = { ...good };
  const nested = members[first];
  members[first] =
    second === undefined ? value : { ...(typeof nested === "object" && nested), [second]: value };
  if (!path.startsWith("payment_proof")) delete members["payment_proof"];
  return text(members);
}

function text(members: Record<string, string | Record<string, string>>): string {
  const parts = Object.entries(members).map(
    ([name, value]) => `"${name}":${typeof value === "string" ? value : text(value)}`,
  );
  return `{${parts.join(",")}}`;
}
