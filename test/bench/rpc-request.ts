import { z } from "zod";

const response = z.object({ result: z.unknown() });

/** The result of a Solana RPC request. @throws Error for an error response */
export async function rpcRequest(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const text = await answer.text();
  const { success, data } = response.safeParse(JSON.parse(text));
  if (!success || data.result === undefined) throw new Error(`${method}: ${text.slice(0, 500)}`);
  return data.result;
}
