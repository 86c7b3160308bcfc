import { HealthService } from "#gen/toolgate/v1/health_service_pb.ts";
import { ReceiptService, type ListReceiptsRequestSchema } from "#gen/toolgate/v1/receipt_service_pb.ts";
import { ReceiptStatus } from "#gen/toolgate/v1/receipt_pb.ts";
import { RunService } from "#gen/toolgate/v1/run_service_pb.ts";
import { RunStatus } from "#gen/toolgate/v1/run_pb.ts";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf";
import { memoOf, xPayment, type Agent, type AgentOptions, type World } from "../support/world.ts";
import type { Call } from "./transports.ts";

/** One row: who calls, what happened before, and the call. */
export interface Row {
  name: string;
  /** A fresh agent with these options; `stranger` sends no key, `impostor` an unknown one. */
  caller?: AgentOptions | "stranger" | "impostor";
  /** The call, after whatever it needs has happened. */
  call(world: World, agent: Agent): Promise<Call & { headers?: Record<string, string> }> | Call;
  /** Whether tools/call of MCP answers in its own words, so that it cannot be compared. */
  ownWordsInMcp?: boolean;
}

const PAID = { tool: "vram_estimate", params: { model: "llama-3.1-8b", context_length: 8192 } };

const tool = (body: { tool: string; params: JsonObject; idempotency_key?: string }): Call => ({
  method: ToolService.method.callTool,
  request: {
    tool: body.tool,
    params: body.params,
    ...(body.idempotency_key !== undefined && { idempotencyKey: body.idempotency_key }),
  },
  path: "/v1/mcp/tools/call",
  body,
});

const listReceipts = (request: MessageInitShape<typeof ListReceiptsRequestSchema>, query = ""): Call => ({
  method: ReceiptService.method.listReceipts,
  request,
  path: `/receipts${query}`,
});

const buy = (world: World, agent: Agent) => world.call(agent, PAID.tool, PAID.params);

/** The calls that every transport must answer alike. */
export const ROWS: readonly Row[] = [
  { name: "echo", call: () => tool({ tool: "echo", params: { message: "héllo \u0000 😀" } }) },
  {
    name: "get_status",
    caller: { balance: 1_234_567n },
    call: () => tool({ tool: "get_status", params: {} }),
  },
  { name: "a paid call from the balance", caller: { balance: 5_000n }, call: () => tool(PAID) },
  { name: "a paid call without money: 402", call: () => tool(PAID) },
  {
    name: "a paid call with a proof",
    async call(world, agent) {
      const { quote } = (await buy(world, agent)).body;
      const tx = await world.pay(agent, BigInt(quote.price_usdc_microusd), memoOf(quote));
      return { ...tool(PAID), headers: xPayment(tx, quote.quote_id) };
    },
  },
  {
    name: "a proof of too little: INVALID_PAYMENT 402",
    async call(world, agent) {
      const { quote } = (await buy(world, agent)).body;
      const tx = await world.pay(agent, 1n, memoOf(quote));
      return { ...tool(PAID), headers: xPayment(tx, quote.quote_id) };
    },
  },
  {
    name: "the same call again, by its idempotency key",
    caller: { balance: 1_000n },
    async call(world, agent) {
      const headers = { "Idempotency-Key": "again" };
      await world.call(agent, PAID.tool, PAID.params, { headers });
      return { ...tool(PAID), headers };
    },
  },
  {
    name: "another call under the same idempotency key: IDEMPOTENCY_MISMATCH",
    caller: { balance: 1_000n },
    async call(world, agent) {
      const headers = { "Idempotency-Key": "again" };
      await world.call(agent, PAID.tool, PAID.params, { headers });
      return { ...tool({ tool: "echo", params: { message: "" } }), headers };
    },
  },
  { name: "an unknown tool", ownWordsInMcp: true, call: () => tool({ tool: "nothing", params: {} }) },
  { name: "an announced tool", ownWordsInMcp: true, call: () => tool({ tool: "gpu_provision", params: {} }) },
  { name: "params of the wrong type", call: () => tool({ tool: "echo", params: { message: 1 } }) },
  { name: "an unknown parameter", call: () => tool({ tool: "echo", params: { message: "", extra: [{}] } }) },
  {
    name: "an idempotency key that is no key",
    ownWordsInMcp: true,
    call: () => tool({ tool: "echo", params: { message: "" }, idempotency_key: "ü" }),
  },
  { name: "a key without the scope", caller: { scopes: ["billing:read"] }, call: () => tool(PAID) },
  { name: "no key", caller: "stranger", call: () => tool(PAID) },
  { name: "an unknown key", caller: "impostor", call: () => tool(PAID) },
  {
    name: "a key that called too often",
    caller: { ratePerMinute: 1, burst: 1 },
    async call(world, agent) {
      await world.call(agent, "echo", { message: "" });
      return tool({ tool: "echo", params: { message: "" } });
    },
  },
  {
    name: "receipts, a page of them",
    caller: { balance: 10_000n },
    async call(world, agent) {
      for (const _ of [1, 2, 3]) await buy(world, agent);
      return listReceipts({ limit: 2, status: ReceiptStatus.FINAL }, "?limit=2&status=final");
    },
  },
  { name: "receipts, when there are none", call: () => listReceipts({}) },
  { name: "receipts with a limit that is too high", call: () => listReceipts({ limit: 101 }, "?limit=101") },
  { name: "receipts with a cursor of nobody's", call: () => listReceipts({ cursor: "x" }, "?cursor=x") },
  { name: "receipts without the scope", caller: { scopes: ["compute:read"] }, call: () => listReceipts({}) },
  {
    name: "one receipt",
    caller: { balance: 1_000n },
    async call(world, agent) {
      const id = (await buy(world, agent)).body.receipt.receipt_id;
      return { method: ReceiptService.method.getReceipt, request: { id }, path: `/receipts/${id}` };
    },
  },
  {
    name: "a receipt of another's",
    async call(world) {
      const other = await world.agent({ balance: 1_000n });
      const id = (await buy(world, other)).body.receipt.receipt_id;
      return { method: ReceiptService.method.getReceipt, request: { id }, path: `/receipts/${id}` };
    },
  },
  {
    name: "runs, all completed ones",
    caller: { balance: 10_000n },
    async call(world, agent) {
      for (const _ of [1, 2]) await buy(world, agent);
      const request = { status: RunStatus.COMPLETED };
      return { method: RunService.method.listRuns, request, path: "/runs?status=completed" };
    },
  },
  {
    name: "one run",
    caller: { balance: 1_000n },
    async call(world, agent) {
      const id = (await buy(world, agent)).body.receipt.run_id;
      return { method: RunService.method.getRun, request: { id }, path: `/runs/${id}` };
    },
  },
  {
    name: "a run that never was",
    call: () => ({ method: RunService.method.getRun, request: { id: "run_x" }, path: "/runs/run_x" }),
  },
  {
    name: "capabilities, without a key",
    caller: "stranger",
    call: () => ({ method: ToolService.method.getCapabilities, request: {}, path: "/mcp/capabilities" }),
  },
  {
    name: "capabilities, with an unknown key",
    caller: "impostor",
    call: () => ({ method: ToolService.method.getCapabilities, request: {}, path: "/mcp/capabilities" }),
  },
  {
    name: "health",
    caller: "stranger",
    call: () => ({ method: HealthService.method.getHealth, request: {}, path: "/health" }),
  },
];
