export type Protocol = "HTTP" | "MCP" | "gRPC" | "Connect";

export const WAYS = ["balance", "transfer", "gasless"] as const;
export type Way = (typeof WAYS)[number];

/** A program of docs/examples, and the cells of the table that it covers. */
export interface Example {
  /** Prefix of its cells' names. */
  readonly client: string;
  readonly protocol: Protocol;
  readonly file: string;
  readonly ways: readonly Way[];
  /** Needs SOLANA_RPC_URL for every payment method. */
  readonly asksChain?: true;
  readonly variables?: Readonly<Record<string, string>>;
}

/** One cell of the table; its name is the title of its test. */
export interface Cell extends Pick<Example, "file" | "protocol" | "asksChain" | "variables"> {
  readonly name: string;
  readonly way: Way;
}

const CONNECT = { PROTOCOL: "connect" };
const WITHOUT_TRANSFER: readonly Way[] = ["balance", "gasless"];

/** Every example that buys a call, in the order of the page. */
const EXAMPLES: readonly Example[] = [
  { client: "curl", protocol: "HTTP", file: "curl/http.sh", ways: WAYS },
  { client: "curl", protocol: "MCP", file: "curl/mcp.sh", ways: WAYS },
  { client: "curl", protocol: "Connect", file: "curl/connect.sh", ways: WAYS },
  { client: "paying-fetch", protocol: "HTTP", file: "node/fetch.ts", ways: WAYS },
  { client: "payment-scheme", protocol: "HTTP", file: "node/payment-scheme.ts", ways: WITHOUT_TRANSFER },
  { client: "toolgate-client", protocol: "Connect", file: "node/client.ts", ways: WAYS },
  { client: "mcp-host", protocol: "MCP", file: "mcp.json", ways: ["balance"] },
  { client: "mcp-sdk-v1", protocol: "MCP", file: "node/mcp-v1.ts", ways: WAYS },
  { client: "mcp-sdk-v2", protocol: "MCP", file: "node/mcp-v2.ts", ways: WAYS },
  { client: "ai-sdk", protocol: "MCP", file: "node/ai-sdk.ts", ways: WAYS },
  { client: "x402", protocol: "HTTP", file: "node/x402.ts", ways: WITHOUT_TRANSFER, asksChain: true },
  { client: "x402", protocol: "MCP", file: "node/x402-mcp.ts", ways: WITHOUT_TRANSFER, asksChain: true },
  { client: "mppx", protocol: "HTTP", file: "node/mpp.ts", ways: WITHOUT_TRANSFER, asksChain: true },
  { client: "connect-web", protocol: "Connect", file: "node/connect.ts", ways: WAYS },
  { client: "connect-node", protocol: "gRPC", file: "node/connect-node.ts", ways: WAYS },
  {
    client: "connect-node",
    protocol: "Connect",
    file: "node/connect-node.ts",
    ways: WAYS,
    variables: CONNECT,
  },
  { client: "grpc-js", protocol: "gRPC", file: "node/grpc-js.ts", ways: WAYS },
  { client: "buf-curl", protocol: "gRPC", file: "curl/buf.sh", ways: WAYS },
  { client: "buf-curl", protocol: "Connect", file: "curl/buf.sh", ways: WAYS, variables: CONNECT },
  { client: "python", protocol: "HTTP", file: "python/buy.py", ways: WITHOUT_TRANSFER },
  { client: "go", protocol: "HTTP", file: "go/buy/main.go", ways: WITHOUT_TRANSFER },
];

/** The cells that `npm test` runs: each program, and each way over each protocol. The labs run all. */
const SHORT = new Set([
  ...["curl-http-transfer", "curl-mcp-gasless", "curl-connect-balance", "paying-fetch-http-gasless"],
  ...["toolgate-client-connect-transfer", "mcp-host-mcp-balance", "mcp-sdk-v1-mcp-transfer"],
  ...["mcp-sdk-v2-mcp-gasless", "ai-sdk-mcp-gasless", "x402-http-gasless", "x402-mcp-gasless"],
  ...["mppx-http-gasless", "payment-scheme-http-gasless"],
  ...["connect-web-connect-balance", "connect-node-grpc-transfer", "connect-node-connect-gasless"],
  ...["grpc-js-grpc-gasless", "buf-curl-grpc-balance", "buf-curl-connect-gasless"],
  ...["python-http-balance", "go-http-gasless"],
]);

export const CELLS: readonly Cell[] = EXAMPLES.flatMap(({ client, protocol, ways, ...example }) =>
  ways.map((way) => ({ ...example, protocol, name: `${client}-${protocol.toLowerCase()}-${way}`, way })),
);

export const SHORT_CELLS = CELLS.filter(({ name }) => SHORT.has(name));
