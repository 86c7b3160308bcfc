/** The doors of the gateway, as docs/guides/clients.md heads them. */
export const DOORS = ["HTTP", "MCP", "gRPC", "Connect"] as const;
export type Door = (typeof DOORS)[number];

/** How a call is paid for: as a receipt's `paid_by` names it. */
export const WAYS = ["balance", "transfer", "gasless"] as const;
export type Way = (typeof WAYS)[number];

/** A program of docs/examples, and the cells of the table that it proves. */
export interface Example {
  /** First word of its cells' names. */
  readonly client: string;
  readonly door: Door;
  /** Below docs/examples. */
  readonly file: string;
  readonly ways: readonly Way[];
  /** Asks the chain itself, however it pays. */
  readonly asksChain?: true;
  readonly variables?: Readonly<Record<string, string>>;
}

/** One cell of the table: its name is the test's. */
export interface Cell extends Pick<Example, "file" | "asksChain" | "variables"> {
  readonly name: string;
  readonly way: Way;
}

const CONNECT = { PROTOCOL: "connect" };
const WITHOUT_TRANSFER: readonly Way[] = ["balance", "gasless"];

/** Every example that buys a call, in the page's order. */
const EXAMPLES: readonly Example[] = [
  { client: "curl", door: "HTTP", file: "curl/http.sh", ways: WAYS },
  { client: "curl", door: "MCP", file: "curl/mcp.sh", ways: WAYS },
  { client: "curl", door: "Connect", file: "curl/connect.sh", ways: WAYS },
  { client: "paying-fetch", door: "HTTP", file: "node/fetch.ts", ways: WAYS },
  { client: "toolgate-client", door: "Connect", file: "node/client.ts", ways: WAYS },
  { client: "mcp-host", door: "MCP", file: "mcp.json", ways: ["balance"] },
  { client: "mcp-sdk-v1", door: "MCP", file: "node/mcp-v1.ts", ways: WAYS },
  { client: "mcp-sdk-v2", door: "MCP", file: "node/mcp-v2.ts", ways: WAYS },
  { client: "ai-sdk", door: "MCP", file: "node/ai-sdk.ts", ways: WAYS },
  { client: "x402", door: "HTTP", file: "node/x402.ts", ways: WITHOUT_TRANSFER, asksChain: true },
  { client: "x402", door: "MCP", file: "node/x402-mcp.ts", ways: WITHOUT_TRANSFER, asksChain: true },
  { client: "connect-web", door: "Connect", file: "node/connect.ts", ways: WAYS },
  { client: "connect-node", door: "gRPC", file: "node/connect-node.ts", ways: WAYS },
  { client: "connect-node", door: "Connect", file: "node/connect-node.ts", ways: WAYS, variables: CONNECT },
  { client: "grpc-js", door: "gRPC", file: "node/grpc-js.ts", ways: WAYS },
  { client: "buf-curl", door: "gRPC", file: "curl/buf.sh", ways: WAYS },
  { client: "buf-curl", door: "Connect", file: "curl/buf.sh", ways: WAYS, variables: CONNECT },
  { client: "python", door: "HTTP", file: "python/buy.py", ways: WITHOUT_TRANSFER },
  { client: "go", door: "HTTP", file: "go/buy/main.go", ways: WITHOUT_TRANSFER },
];

export const CELLS: readonly Cell[] = EXAMPLES.flatMap(({ client, door, ways, ...example }) =>
  ways.map((way) => ({ ...example, name: `${client}-${door.toLowerCase()}-${way}`, way })),
);
