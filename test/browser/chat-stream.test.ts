import { createServer, type ServerResponse } from "node:http";
import { afterAll, expect, it } from "vitest";
import { POLL, useConsoleWorld } from "./console-world.ts";
import { testWallet } from "./wallet.ts";
import { closeServer, listen } from "../support/servers.ts";

/** In a cell: a sign-in, and the playground's streams, from a model server that waits between its chunks. */

const server = createServer((request, response) => {
  request.resume().on("end", () => {
    if (request.url?.endsWith("/models"))
      return void response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ object: "list", data: [{ id: "small", object: "model" }] }));
    response.writeHead(200, { "content-type": "text/event-stream" });
    chunk(response, { choices: [{ index: 0, delta: { role: "assistant", content: "First " } }] });
    response.on("close", () => (closed += 1));
    open = response;
  });
});
let open: ServerResponse | undefined;
let closed = 0;

function chunk(response: ServerResponse, members: object): void {
  const head = { id: "c1", object: "chat.completion.chunk", created: 1, model: "small" };
  response.write(`data: ${JSON.stringify({ ...head, ...members })}\n\n`);
}

function finish(...deltas: object[]): void {
  if (!open) throw new Error("no stream is open");
  for (const delta of deltas) chunk(open, { choices: [{ index: 0, delta }] });
  chunk(open, { choices: [{ index: 0, delta: { content: "second." }, finish_reason: "stop" }] });
  chunk(open, { choices: [], usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 } });
  open.end("data: [DONE]\n\n");
}

const world = useConsoleWorld(async () => ({
  CELL: "2",
  INFERENCE_BASE_URL: `http://127.0.0.1:${await listen(server)}/v1`,
}));
afterAll(async () => {
  expect(await world.violations()).toEqual([]);
  await closeServer(server);
});

it("signs in in a cell, and stays signed in on the next page and after a reload", async () => {
  const wallet = testWallet((await world.agent()).wallet);
  const { page, context } = await world.browserFor({ wallets: [wallet] });
  await page.goto("");
  await page.getByRole("button", { name: "Test wallet" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  expect((await context.cookies())[0]?.value).toMatch(/^2\./);
  await page.goto("settings");
  await page.getByText("This session").waitFor();
});

async function startChat() {
  const agent = await world.agent({ balance: 1_000_000n });
  const { page } = await world.signedInBrowser(agent.wallet, { expected: [/status of 409/] });
  await page.goto("playground?tool=inference_chat");
  await page.getByRole("button", { name: "Create a temporary key" }).click();
  await page.getByText(/^expires in/).waitFor();
  const model = page.getByLabel("model", { exact: true });
  if ((await model.count()) > 0 && (await model.evaluate("node => node.tagName")) === "INPUT")
    await model.fill("small");
  await page.getByRole("button", { name: "Run" }).click();
  const partial = page.getByRole("region", { name: "answer so far", exact: true });
  await partial.getByText("First").waitFor();
  const charged = async () => 1_000_000n - (await world.postgres.ledger.balance(agent.accountId));
  return { page, partial, charged };
}

it("shows a chat chunk by chunk, and the charge from the last chunk", async () => {
  const { page, partial, charged } = await startChat();
  expect(await partial.innerText()).not.toContain("second.");
  finish();
  await page.getByText(/^Charged \$.*paid from balance/).waitFor();
  expect(await page.getByRole("region", { name: "result", exact: true }).innerText()).toContain(
    "First second.",
  );
  expect(await partial.count()).toBe(0);
  expect(await charged()).toBeGreaterThan(0n);
});

it("stops a stream, and shows what was generated and charged", async () => {
  const { page, charged } = await startChat();
  const before = closed;
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("What was generated until then is charged.").waitFor();
  await page.getByText(/^Charged \$.*paid from balance/).waitFor();
  const result = await page.getByRole("region", { name: "result", exact: true }).innerText();
  expect(result).toContain("First ");
  expect(result).toContain("cancelled");
  await expect.poll(() => closed, POLL).toBe(before + 1);
  expect(await charged()).toBeGreaterThan(0n);
});

it("shows the parts of a streamed tool call as one call", async () => {
  const { page } = await startChat();
  const part = (input: string) => ({ tool_calls: [{ index: 0, function: { arguments: input } }] });
  const head = { id: "call_1", type: "function", function: { name: "add", arguments: "" } };
  finish({ tool_calls: [{ index: 0, ...head }] }, part('{"a":'), part("2}"));
  await page.getByText(/^Charged \$/).waitFor();
  const result = await page.getByRole("region", { name: "result", exact: true }).innerText();
  const [choice] = JSON.parse(result).choices;
  const called = { name: "add", arguments: '{"a":2}' };
  expect(choice.message.tool_calls).toEqual([{ id: "call_1", type: "function", function: called }]);
});
