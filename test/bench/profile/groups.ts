/** A code location as V8 reports it. */
export interface Frame {
  readonly functionName: string;
  readonly url: string;
}

/** Groups of code in a profile; the first match counts: packages have folders named `src`, too. */
const GROUPS: readonly (readonly [group: string, urls: RegExp])[] = [
  ["PostgreSQL client", /\/node_modules\/pg[^/]*\/|\/node_modules\/postgres-/],
  ["log and metrics libraries", /\/node_modules\/(?:pino|sonic-boom|prom-client|thread-stream)/],
  ["Protobuf and its validation", /\/node_modules\/@bufbuild\//],
  ["Connect and gRPC libraries", /\/node_modules\/(?:@connectrpc|@grpc)\//],
  ["Solana libraries", /\/node_modules\/(?:@solana|@noble|@scure|bn\.js|borsh)/],
  ["other libraries", /\/node_modules\//],
  [
    "our transports",
    /\/(?:src\/transport|src\/httpjson|gen|src\/gateway|src\/console)(?:\/|\.ts$)|\/src\/gateway\.ts/,
  ],
  ["our SQL adapter", /\/src\/postgres\//],
  ["our log and metrics", /\/src\/(?:log\.ts|metrics\/)/],
  ["our use cases and domain", /\/src\/(?:app|domain|tools|payments|registered|inference|sandbox)\//],
  ["our chain client", /\/src\/(?:solana|outbound)\//],
  ["our other code", /\/src\/|\/test\//],
  ["Node's crypto", /^node:(?:internal\/)?crypto/],
  ["Node's HTTP", /^node:(?:_http|internal\/http|http|internal\/url|internal\/http2|internal\/per_context)/],
  [
    "Node's sockets and streams",
    /^node:(?:net|_tls|tls|internal\/(?:streams|stream_base|tls|net|dgram)|stream|buffer|internal\/buffer|string_decoder|dns)/,
  ],
  [
    "Node's timers, promises and events",
    /^node:(?:events|internal\/(?:timers|process|async_hooks|event|abort|util|promise)|timers|async_hooks|diagnostics_channel|util)/,
  ],
  ["other parts of Node", /^node:/],
];

/** V8's names for time that is no function's. */
const NO_FUNCTION: ReadonlyMap<string, string> = new Map([
  ["(garbage collector)", "garbage collection"],
  ["(program)", "system calls and native code"],
]);

/** Returns the group of a function; undefined for built-ins, which count to their caller. */
export function groupOf({ functionName, url }: Frame): string | undefined {
  const named = NO_FUNCTION.get(functionName);
  if (named !== undefined) return named;
  return GROUPS.find(([, urls]) => url !== "" && urls.test(url))?.[0];
}
