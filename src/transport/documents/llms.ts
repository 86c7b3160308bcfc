import type { Catalogue } from "../../app/calls/catalogue.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import { displayUsd } from "../../domain/core/money.ts";
import { ASSET } from "../../domain/payments/body-proof.ts";
import { SOLANA } from "../../domain/payments/payment-id.ts";
import type { ListedTool } from "../../domain/tools/tool.ts";
import type { SoldTools } from "../x402/sold-tools.ts";
import type { ServedDocument } from "./document-handler.ts";

export interface LlmsTextOptions {
  readonly catalogue: Catalogue;
  readonly version: string;
  /** Available after the servers listen. */
  readonly baseUrl: () => string;
  readonly gasless: boolean;
  /** Undefined: nothing is sold without an API key. */
  readonly sold: SoldTools | undefined;
}

/** Returns /llms.txt (llmstxt.org): heading, summary, how to call and pay, then lists of links. */
export function llmsText(subject: LlmsTextOptions): ServedDocument {
  let kept: { readonly listed: readonly ListedTool[]; readonly text: string } | undefined;
  return {
    path: "/llms.txt",
    mediaType: "text/markdown; charset=utf-8",
    maxAgeSeconds: 60,
    text() {
      const listed = subject.catalogue.listed();
      if (kept?.listed !== listed) kept = { listed, text: textOf(subject, listed) };
      return kept.text;
    },
  };
}

function textOf(subject: LlmsTextOptions, listed: readonly ListedTool[]): string {
  const sections = [
    head(),
    calling(subject),
    openAi(subject),
    paying(subject),
    buying(subject),
    tools(listed),
  ];
  return [...sections, links(subject)].flat().join("\n");
}

function head(): string[] {
  return [
    "# Toolgate",
    "",
    "> Tool calls for software agents over HTTP, MCP, Connect and gRPC. Free tools need no payment; others " +
      `are paid per call in ${ASSET} on ${SOLANA}, from a balance or by a transfer for that call.`,
    "",
  ];
}

function calling({ baseUrl, version }: LlmsTextOptions): string[] {
  return [
    `Base URL: ${baseUrl()} (version ${version}). Send \`Authorization: Bearer sk-agent-…\` ` +
      "with every call, a key from the console or the operator; the catalogue and this text need none.",
    "",
    "A call over HTTP:",
    "",
    "```http",
    `POST ${baseUrl()}/v1/mcp/tools/call`,
    "Authorization: Bearer sk-agent-…",
    "Content-Type: application/json",
    "",
    '{"tool": "echo", "params": {"message": "hello"}, "idempotency_key": "one-of-your-own"}',
    "```",
    "",
    'The response is `{"ok": true, "result": {…}}`, with a `receipt` for a paid call. ' +
      `MCP (streamable HTTP) serves the same tools at ${baseUrl()}/mcp with the same header.`,
    'Errors are `{"code", "message", "request_id"}`: branch on `code`; ' +
      "wait `retry_after_seconds` if present, and repeat the same call with the same `idempotency_key`.",
    "",
  ];
}

function openAi({ baseUrl, catalogue }: LlmsTextOptions): string[] {
  const models = catalogue.tools.flatMap(({ modelApi }) => modelApi?.models ?? []);
  if (models.length === 0) return [];
  return [
    `Clients of the OpenAI API take \`${baseUrl()}/openai/v1\` as base URL and the same key: ` +
      "`GET /openai/v1/models`, `POST /openai/v1/chat/completions` and `/openai/v1/responses`, whole or " +
      "with `stream`. " +
      "`usage.cost_usdc_microusd` is the charge.",
    `Those of Anthropic's API take \`${baseUrl()}/anthropic\`, with \`POST /v1/messages\`.`,
    "",
  ];
}

/** A wallet's first call, with the example of the first tool. */
function buying({ baseUrl, sold }: LlmsTextOptions): string[] {
  const [first] = sold?.byName().values() ?? [];
  if (!first) return [];
  return [
    "With a wallet and no API key: every paid tool is `POST /x402/{tool}`, whose body is its parameters.",
    "",
    "```http",
    `POST ${baseUrl()}${first.path}`,
    "Content-Type: application/json",
    "",
    JSON.stringify(first.example),
    "```",
    "",
    "The response is 402 with the header PAYMENT-REQUIRED (x402 version 2, scheme exact on Solana). " +
      "Sign it with your wallet, which needs USDC and no SOL, and send the request again with " +
      "PAYMENT-SIGNATURE; an x402 client does both. The answer is 200 with PAYMENT-RESPONSE. " +
      "Send the same PAYMENT-SIGNATURE again when no answer came: it pays once.",
    "",
  ];
}

function paying({ gasless }: LlmsTextOptions): string[] {
  return [
    "Paying, when the balance does not cover a call:",
    "",
    "1. The call returns 402 with `quote` (price in millionths of a USD, valid for `ttl_seconds`) and " +
      "`payment_instructions`." +
      (gasless ? " The header PAYMENT-REQUIRED has the same offer for x402 version 2 clients." : ""),
    `2. Send \`price_usdc_microusd\` of ${ASSET} on ${SOLANA} to \`pay_to\` ` +
      "with a memo in `memo_format`. The memo links the transfer to the quote.",
    '3. Repeat the same call with `X-Payment`: base64url of `{"tx": "<signature>", "quote_id": ' +
      '"<quote_id>"}`. The response is 200 with a receipt. Repeating the proof returns the stored result ' +
      "without another charge.",
    ...(gasless
      ? [
          "",
          "Without SOL for the fee: `POST /v1/payments/transaction` with `quote_id` and `payer` returns a " +
            "transaction. Sign the bytes of its `message` (base64) with Ed25519, write the 64 bytes of the " +
            "signature into `transaction` from byte 65 on, counted from 0, and repeat the call with " +
            '`X-Payment`: base64url of `{"transaction": "<base64>", "quote_id": "<quote_id>"}`. ' +
            "x402 clients do the same with PAYMENT-SIGNATURE.",
        ]
      : []),
    "",
    "Never pay twice for one call: keep the signature until the call returns 200; " +
      "reuse its idempotency key on every retry.",
    "",
  ];
}

function tools(listed: readonly ListedTool[]): string[] {
  return ["The tools:", "", ...listed.map(toolLine), ""];
}

function toolLine(tool: ListedTool): string {
  const { name, description, inputSchema } = tool;
  const summary = description.replaceAll(/\s+/g, " ");
  return `- \`${name}\` (${priceWords(tool)}): ${summary}${parameterWords(inputSchema)}`;
}

function priceWords({ status, billable, fixedPrice, maxPrice }: ListedTool): string {
  if (status !== "active") return "not available yet";
  if (!billable) return "free";
  if (fixedPrice !== undefined) return `${displayUsd(fixedPrice)} a call`;
  const most = maxPrice === undefined ? "" : `, at most ${displayUsd(maxPrice)} a call`;
  return `priced by its parameters${most}; see the quote`;
}

function parameterWords({ properties, required }: JsonObject): string {
  if (typeof properties !== "object" || properties === null) return "";
  const needed: ReadonlySet<unknown> = new Set(Array.isArray(required) ? required : []);
  // A seller chooses the names: others could end the line, or the code that they are in.
  const plain = Object.keys(properties).filter((name) => /^[\w.:$@/[\]-]{1,64}$/.test(name));
  const names = plain.map((name) => (needed.has(name) ? `\`${name}\` (required)` : `\`${name}\``));
  return names.length === 0 ? "" : ` Parameters: ${names.join(", ")}.`;
}

function links({ baseUrl: url, sold }: LlmsTextOptions): string[] {
  const baseUrl = url();
  const manifest = "what wallets buy without an API key, with prices and schemas";
  return [
    "## Contract",
    "",
    `- [Catalogue](${baseUrl}/mcp/capabilities): the tools as JSON, with parameter schemas and prices`,
    `- [OpenAPI 3.1](${baseUrl}/openapi.json): every HTTP route, with 402 and all errors`,
    ...(sold ? [`- [x402](${baseUrl}/.well-known/x402): ${manifest}`] : []),
    "",
    "## Optional",
    "",
    `- [Health](${baseUrl}/health): whether the service works`,
    "",
  ];
}
