import { z } from "zod";

const answer = z.object({ result: z.unknown() });

/** Calls a method that only the local chain has. @throws Error for an error response */
export async function requestLocalChain(
  rpcUrl: string,
  method: string,
  params: readonly unknown[],
): Promise<void> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const response = await fetch(rpcUrl, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  const text = await response.text();
  if (!("result" in answer.parse(JSON.parse(text)))) throw new Error(`${method} was refused: ${text}`);
}
