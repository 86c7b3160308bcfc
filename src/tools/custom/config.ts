import { z } from "zod";
import { MAX_MICRO_USD } from "../../domain/money.ts";
import { SCOPES } from "../../domain/scope.ts";

/** How long one call may take unless the operator says otherwise, ms. */
const DEFAULT_TIMEOUT_MS = 30_000;

/** Longest answer that is read unless the operator says otherwise, bytes. */
const DEFAULT_ANSWER_BYTES = 2 * 1024 * 1024;

/** The most that may be allowed, bytes: with what the gateway adds, a result must fit into a message of gRPC (4 MiB by default). */
const MAX_ANSWER_BYTES = 3 * 1024 * 1024;

/** A whole number of micro-USD (millionths of a USD), at least one. */
const microUsd = z
  .int()
  .min(1)
  .max(Number(MAX_MICRO_USD))
  .transform((amount) => BigInt(amount));

const httpUrl = z.url({ protocol: /^https?$/, error: "must be an http:// or https:// URL" });

/** What a call costs: the same each time, by its parameters, or nothing. */
const price = z.union(
  [
    z.strictObject({ flat_microusd: microUsd }),
    z
      .strictObject({
        /** Common Expression Language over `params`; its value is an int, in micro-USD. */
        expression: z.string().min(1).max(2_000),
        minimum_microusd: microUsd.optional(),
        maximum_microusd: microUsd.optional(),
      })
      .refine(
        ({ minimum_microusd: least, maximum_microusd: most }) =>
          least === undefined || most === undefined || least <= most,
        { error: "must be at least minimum_microusd", path: ["maximum_microusd"] },
      ),
    z.strictObject({ free: z.literal(true) }),
  ],
  {
    error:
      "must be one of {flat_microusd: …}, {expression: …, minimum_microusd: …, maximum_microusd: …} and {free: true}, with amounts as whole numbers of micro-USD, at least 1",
  },
);

/** One operation of an API that an OpenAPI document describes. */
const http = z.strictObject({
  /** A file, beside the configuration file unless its path is absolute, or an address. */
  openapi: z.string().min(1),
  operation_id: z.string().min(1),
  /** Left out: the first of the document's servers, with the defaults of its variables. */
  server_url: httpUrl.optional(),
});

/** One unary method of a gRPC server. */
const grpc = z
  .strictObject({
    /** `host:port`. */
    address: z.string().regex(/^(\[[\da-fA-F:.]+\]|[^\s:/@[\]]+):\d{1,5}$/, "must be host:port"),
    /** `package.Service/Method`. */
    method: z.string().regex(/^[A-Za-z_][\w.]*\/[A-Za-z_]\w*$/, "must be package.Service/Method"),
    /** The server says itself what the method takes (grpc.reflection.v1); so where there is no descriptor_set. */
    reflection: z.literal(true).optional(),
    /** A file with a google.protobuf.FileDescriptorSet that includes its imports, beside the configuration file unless its path is absolute. */
    descriptor_set: z.string().min(1).optional(),
    /** false: without TLS; ca_file: trusts these certificates (PEM) instead of the system's. */
    tls: z.union([z.boolean(), z.strictObject({ ca_file: z.string().min(1) })]).prefault(true),
  })
  .refine(({ reflection, descriptor_set }) => reflection === undefined || descriptor_set === undefined, {
    error: "must be left out where there is reflection",
    path: ["descriptor_set"],
  });

/** One tool of an MCP server (streamable HTTP). */
const mcp = z.strictObject({ url: httpUrl, tool: z.string().min(1).max(256) });

const customTool = z
  .strictObject({
    name: z
      .string()
      .regex(
        /^[a-z][a-z0-9_]{0,63}$/,
        "must be 1 to 64 characters of a-z, 0-9 and _, and begin with a letter",
      ),
    /** Left out: what the server says of the operation. */
    description: z.string().min(1).max(4_000).optional(),
    price,
    scope: z.enum(SCOPES).prefault("compute:run"),
    timeout_ms: z.int().min(1).max(300_000).prefault(DEFAULT_TIMEOUT_MS),
    max_response_bytes: z.int().min(1).max(MAX_ANSWER_BYTES).prefault(DEFAULT_ANSWER_BYTES),
    /** Headers (metadata in gRPC) of each call, each with the environment variable that holds its value. */
    headers_env: z.record(z.string(), z.string().min(1)).prefault({}),
    /** Where the server may lie; never at link-local, multicast and cloud metadata addresses. */
    network: z.enum(["public", "any"]).prefault("public"),
    /** Hosts that may lie in private networks whatever `network` says. */
    allow_hosts: z
      .array(z.string().regex(/^[^\s:/@]+$|^\[?[\da-fA-F:.]+\]?$/, "must be a host, without a port"))
      .prefault([]),
    http: http.optional(),
    grpc: grpc.optional(),
    mcp: mcp.optional(),
  })
  .refine((tool) => [tool.http, tool.grpc, tool.mcp].filter(Boolean).length === 1, {
    error: "must have exactly one of http, grpc and mcp, which says what stands behind it",
  });

/** The `tools` part of the configuration file: tools of the operator's own, in the order in which the catalogue lists them. */
export const customToolsSchema = z.array(customTool).prefault([]);

/** The `tools` part as read. */
export type CustomToolsSection = z.output<typeof customToolsSchema>;

/** One entry as read. */
export type CustomToolSection = CustomToolsSection[number];

/** What a call costs, as read. */
export type PriceSection = z.output<typeof price>;

/** What stands behind a tool, as read. Paths in it are absolute once {@link resolveTools} has read it. */
export type HttpSection = z.output<typeof http>;
export type GrpcSection = z.output<typeof grpc>;
export type McpSection = z.output<typeof mcp>;
