import { createKeyPairSignerFromBytes } from "@solana/kit";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { decodePaymentResponseHeader, wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import { ExactSvmScheme } from "@x402/svm";
import OpenAI from "openai";

/** A page's program: the official clients, called by their test. */
export interface OfficialClients {
  chat(
    gateway: string,
    apiKey: string,
  ): Promise<{ text: string; streamed: string; remaining: string | null }>;
  buy(
    gateway: string,
    secret: number[],
    rpcUrl: string,
  ): Promise<{ status: number; body: unknown; paid: unknown }>;
  callMcp(gateway: string, apiKey: string): Promise<unknown>;
}

const messages = [{ role: "user" as const, content: "Two and two?" }];

const clients: OfficialClients = {
  async chat(gateway, apiKey) {
    const client = new OpenAI({ baseURL: `${gateway}/openai/v1`, apiKey, dangerouslyAllowBrowser: true });
    const { data, response } = await client.chat.completions
      .create({ model: "small", messages })
      .withResponse();
    let streamed = "";
    for await (const chunk of await client.chat.completions.create({
      model: "small",
      messages,
      stream: true,
    }))
      streamed += chunk.choices[0]?.delta.content ?? "";
    const remaining = response.headers.get("x-ratelimit-remaining-requests");
    return { text: data.choices[0]?.message.content ?? "", streamed, remaining };
  },
  async buy(gateway, secret, rpcUrl) {
    const signer = await createKeyPairSignerFromBytes(Uint8Array.from(secret));
    const paying = wrapFetchWithPaymentFromConfig(fetch, {
      schemes: [{ network: "solana:*", client: new ExactSvmScheme(signer, { rpcUrl }) }],
    });
    const response = await paying(`${gateway}/x402/vram_estimate`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ model: "llama-3.1-8b" }),
    });
    const header = response.headers.get("payment-response");
    const paid = header === null ? null : decodePaymentResponseHeader(header);
    return { status: response.status, body: await response.json(), paid };
  },
  async callMcp(gateway, apiKey) {
    const client = new Client({ name: "page", version: "1.0.0" });
    const requestInit = { headers: { Authorization: `Bearer ${apiKey}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${gateway}/mcp`), { requestInit }));
    const { structuredContent } = await client.callTool({
      name: "vram_estimate",
      arguments: { model: "llama-3.1-8b" },
    });
    await client.close();
    return structuredContent;
  },
};

Object.assign(globalThis, { clients });
