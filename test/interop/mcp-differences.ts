/** An answer of ours that is not the official server's. */
interface Difference {
  readonly ours: string;
  readonly why: string;
  /** Reference that confirms our behaviour or allows both. */
  readonly paragraph: string;
}

interface Reason extends Omit<Difference, "ours"> {
  readonly answers: Readonly<Record<string, string>>;
}

const LISTING =
  "200 id=1 result={tools:[{_meta:object,annotations:object,description:string,inputSchema:object,name:string}]}";
const PING = "200 id=1 result={}";

const REASONS: readonly Reason[] = [
  {
    why: "params that are not as the method wants them are invalid params, no fault of the server's",
    paragraph: "JSON-RPC 2.0 section 5.1: -32602 Invalid params, -32603 Internal error",
    answers: {
      "initialize without params": "200 id=1 error=-32602",
      "initialize without protocolVersion": "200 id=1 error=-32602",
      "initialize with a number as protocolVersion": "200 id=1 error=-32602",
      "tools/list with a number as its cursor": "200 id=1 error=-32602",
    },
  },
  {
    why:
      "a cursor that this server never gave is refused; the library has one page as well, and looks at " +
      "no cursor",
    paragraph: "MCP 2026-07-28, Pagination, Error Handling: invalid cursors SHOULD result in -32602",
    answers: { "2026: tools/list with a cursor of nobody's": "200 id=1 error=-32602" },
  },
  {
    why:
      "the status is what is demanded; the code is the one that 2026-07-28 gave to this, so that the " +
      "list of revisions comes with it",
    paragraph:
      "MCP 2025-11-25, Transports, Protocol Version Header: MUST respond with 400; 2026-07-28, " +
      "Versioning: -32022",
    answers: {
      "ping with an unknown version in the header": "400 id=1 error=-32022{requested:string,supported:array}",
      "ping with nonsense in the version's header": "400 id=1 error=-32022{requested:string,supported:array}",
    },
  },
  {
    why: "an identifier that can be read is answered to: a client waits for it",
    paragraph:
      "JSON-RPC 2.0 section 5: id MUST be that of the request, and Null only where it cannot be detected",
    answers: {
      "no method": "400 id=1 error=-32600",
      "a number as method": "400 id=1 error=-32600",
    },
  },
  {
    why: "null is absent in the arguments of a call as in every other member",
    paragraph: "docs/reference/errors.md, How JSON is read",
    answers: {
      "tools/call with null as arguments":
        "200 id=1 result={content:[{text:string,type:string}],isError:true}",
    },
  },
  {
    why: "without jsonrpc a body is the gateway's own tool call, and is refused in the words of that",
    paragraph:
      "JSON-RPC 2.0 section 4: a request has jsonrpc, exactly 2.0; docs/reference/mcp.md, two kinds of body",
    answers: { "an empty object": "400", "no jsonrpc": "400" },
  },
  {
    why: "what may come one day is let through",
    paragraph: "JSON-RPC 2.0 section 4 names the members of a request and forbids no other",
    answers: { "a member that JSON-RPC does not know": PING },
  },
  {
    why: "what a method does not read it does not judge",
    paragraph: "MCP 2025-11-25, schema, Request: _meta is an object; nothing says what becomes of another",
    answers: { "an array as _meta": LISTING },
  },
  {
    why: "nothing comes of notifications here, so there is nothing to refuse",
    paragraph:
      "MCP 2026-07-28, Streamable HTTP, Sending Messages: no notification is defined, and no " +
      "requirements on the headers of one",
    answers: {
      "2026: a notification of an unknown version": "202",
      "2026: a notification with another Mcp-Method": "202",
    },
  },
  {
    why: "it is no request, and the code for that is JSON-RPC's",
    paragraph:
      "MCP 2026-07-28, Streamable HTTP, Sending Messages: a request or a notification, no responses; " +
      "JSON-RPC 2.0 section 5.1: -32600 Invalid Request",
    answers: { "2026: a response": "400 id=null error=-32600" },
  },
  {
    why: "a missing header is reported before the version that requires it",
    paragraph:
      "MCP 2026-07-28, Streamable HTTP, Server Validation: -32020 when a required standard header is missing",
    answers: { "2026: an unknown version in the body and no header": "400 id=1 error=-32020" },
  },
  {
    why: "who names a revision in _meta says that it needs no initialize, and has to send the header as well",
    paragraph: "MCP 2026-07-28, Versioning, Backward Compatibility with Initialization-Based Versions",
    answers: { "initialize with its revision in _meta too": "400 id=1 error=-32020" },
  },
  {
    why: "it can be answered and is returned unchanged",
    paragraph: "JSON-RPC 2.0 section 4: numbers SHOULD NOT contain fractional parts",
    answers: { "a fraction as id": "200 id=1.5 result={}" },
  },
  {
    why: "what may not be in a batch is refused, and the rest is answered",
    paragraph:
      "MCP 2025-03-26, Lifecycle, Initialization: initialize MUST NOT be part of a batch; JSON-RPC " +
      "2.0 section 6: a response for each request",
    answers: { "initialize in a batch": "200 id=1 error=-32600 id=2 result={}" },
  },
  {
    why: "who names a revision without batches gets none",
    paragraph: "MCP 2025-06-18, Key Changes: JSON-RPC batching is removed",
    answers: { "a batch with the header of 2025-06-18": "400 id=null error=-32600" },
  },
  {
    why: "agents that want JSON and nothing else are served: what they ask for is what they get",
    paragraph:
      "MCP 2025-11-25, Transports, Sending Messages to the Server: the client MUST list both types; " +
      "nothing says that the server must refuse. RFC 9110 section 12.5.1: a server may disregard " +
      "Accept",
    answers: {
      "Accept: application/json": PING,
      "Accept: text/event-stream": PING,
      "Accept: */*": PING,
      "Accept: text/html": PING,
      "no Accept": PING,
    },
  },
  {
    why: "a refusal before the body is read has the error body of every path",
    paragraph:
      "MCP 2025-11-25, Transports: 405, 403 and 4xx are demanded, a JSON-RPC body without id is a MAY",
    answers: {
      GET: "405",
      DELETE: "405",
      PUT: "405",
      "2026: GET": "405",
      "2026: DELETE": "405",
      "text/plain": "415",
      "no content-type": "415",
      "2026: text/plain": "415",
      "a page from elsewhere": "403",
      "another host's name": "403",
    },
  },
  {
    why: "there are no streams for change notifications: listChanged is declared false",
    paragraph:
      "MCP 2026-07-28, Streamable HTTP: 404 with -32601 for a method that the server does not " +
      "implement; Tools, Capabilities: listChanged is optional",
    answers: { "2026: subscriptions/listen": "404 id=1 error=-32601" },
  },
];

/** Every known difference, by the name of its request. */
export const DIFFERENCES: ReadonlyMap<string, Difference> = new Map(
  REASONS.flatMap(({ why, paragraph, answers }) =>
    Object.entries(answers).map(([name, ours]) => [name, { ours, why, paragraph }] as const),
  ),
);
