import { z } from "zod";

const answer = z.object({ result: z.unknown() });

/** Has the local chain do one of the things that only it does. @throws Error when it refuses */
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
