import { z } from "zod";
import { MAX_MICRO_USD } from "../../domain/core/money.ts";
import { parseTokenRate } from "../../domain/tools/chat.ts";
import { SMALL_PARAMS_BYTES } from "../../domain/tools/tool.ts";
import { SCOPES } from "../../domain/accounts/scope.ts";

const DEFAULT_TIMEOUT_MS = 30_000;

const DEFAULT_ANSWER_BYTES = 2 * 1024 * 1024;

/** Calls are limited by BODY_LIMIT_BYTES, too. */
const MAX_PARAMS_BYTES = 64 * 1024 * 1024;

/** With the gateway's own fields, the result must fit into a gRPC message (4 MiB by default). */
const MAX_ANSWER_BYTES = 3 * 1024 * 1024;

/** Micro-USD, at least 1. */
const microUsd = z
  .int()
  .min(1)
  .max(Number(MAX_MICRO_USD))
  .transform((amount) => BigInt(amount));

const httpUrl = z.url({ protocol: /^https?$/, error: "must be an http:// or https:// URL" });

const price = z.union(
  [
    z.strictObject({ flat_microusd: microUsd }),
    z
      .strictObject({
        /** CEL over `params`, evaluating to an int in micro-USD. */
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
      "must be one of {flat_microusd: …}, {expression: …, minimum_microusd: …, maximum_microusd: …} " +
      "and {free: true}, with amounts as whole numbers of micro-USD, at least 1",
  },
);

/** Micro-USD as a JSON number or string, kept exactly. */
const microUsdPerUnit = z.union([z.string(), z.number()]).transform((given, context) => {
  const text = String(given);
  const value = parseTokenRate(text);
  if (value !== undefined) return { value, text };
  context.addIssue("must be a decimal such as 0.25, with at most 9 decimal places and no exponent");
  return z.NEVER;
});

const METER_SOURCES = ["json_pointer", "field", "header", "trailer", "expression"] as const;

/** What a call is charged, from what its server reports; at most the price. */
const meter = z
  .strictObject({
    /** RFC 6901, in the result. */
    json_pointer: z
      .string()
      .max(1_000)
      .regex(/^(\/([^~/]|~[01])*)+$/, "must be a JSON pointer such as /usage/pages")
      .optional(),
    /** Of a gRPC response: proto names, with dots between them. */
    field: z
      .string()
      .max(1_000)
      .regex(/^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/, "must be a field such as usage.pages")
      .optional(),
    header: z
      .string()
      .regex(/^[\w!#$%&'*+.^`|~-]{1,64}$/, "must be the name of a header")
      .optional(),
    trailer: z
      .string()
      .regex(/^[\w!#$%&'*+.^`|~-]{1,64}$/, "must be the name of a trailer")
      .optional(),
    /** CEL over result, headers, trailers, meta and params. */
    expression: z.string().min(1).max(2_000).optional(),
    /** Name of what is counted, shown to buyers. */
    unit: z
      .string()
      .regex(/^[\p{L}\p{N} _-]{1,40}$/u, "must be a word or two")
      .prefault("unit"),
    microusd_per_unit: microUsdPerUnit.prefault(1),
    minimum_microusd: microUsd.prefault(1),
    /** What a missing or absurd value charges. */
    otherwise: z.enum(["ceiling", "minimum"]).prefault("ceiling"),
  })
  .refine((section) => METER_SOURCES.filter((source) => section[source] !== undefined).length === 1, {
    error: `must have exactly one of ${METER_SOURCES.join(", ")}`,
  });

/** An operation of an OpenAPI document. */
const http = z.strictObject({
  /** A URL, or a path relative to the configuration file. */
  openapi: z.string().min(1),
  operation_id: z.string().min(1),
  /** Default: the document's first server, with its variables' defaults. */
  server_url: httpUrl.optional(),
});

/** A unary gRPC method. */
const grpc = z
  .strictObject({
    address: z.string().regex(/^(\[[\da-fA-F:.]+\]|[^\s:/@[\]]+):\d{1,5}$/, "must be host:port"),
    method: z.string().regex(/^[A-Za-z_][\w.]*\/[A-Za-z_]\w*$/, "must be package.Service/Method"),
    /** Use grpc.reflection.v1. The default without descriptor_set. */
    reflection: z.literal(true).optional(),
    /** Path of a google.protobuf.FileDescriptorSet with its imports, relative to the configuration file. */
    descriptor_set: z.string().min(1).optional(),
    /** false: plaintext. ca_file: trust these PEM certificates instead of the system's. */
    tls: z.union([z.boolean(), z.strictObject({ ca_file: z.string().min(1) })]).prefault(true),
  })
  .refine(({ reflection, descriptor_set }) => reflection === undefined || descriptor_set === undefined, {
    error: "leave it out when reflection is set",
    path: ["descriptor_set"],
  });

/** A tool of an MCP server (streamable HTTP). */
const mcp = z.strictObject({ url: httpUrl, tool: z.string().min(1).max(256) });

const customTool = z
  .strictObject({
    name: z
      .string()
      .regex(
        /^[a-z][a-z0-9_]{0,63}$/,
        "must be 1 to 64 characters of a-z, 0-9 and _, and begin with a letter",
      ),
    /** Default: the server's own description. */
    description: z.string().min(1).max(4_000).optional(),
    price,
    /** Default: each result is charged its price. */
    meter: meter.optional(),
    scope: z.enum(SCOPES).prefault("compute:run"),
    timeout_ms: z.int().min(1).max(300_000).prefault(DEFAULT_TIMEOUT_MS),
    max_params_bytes: z.int().min(1).max(MAX_PARAMS_BYTES).prefault(SMALL_PARAMS_BYTES),
    max_response_bytes: z.int().min(1).max(MAX_ANSWER_BYTES).prefault(DEFAULT_ANSWER_BYTES),
    /** Headers or gRPC metadata of each call, by the environment variable that holds the value. */
    headers_env: z.record(z.string(), z.string().min(1)).prefault({}),
    /** Link-local, multicast and cloud metadata addresses are always blocked. */
    network: z.enum(["public", "any"]).prefault("public"),
    /** Hosts that may be in private networks regardless of `network`. */
    allow_hosts: z
      .array(z.string().regex(/^[^\s:/@]+$|^\[?[\da-fA-F:.]+\]?$/, "must be a host, without a port"))
      .prefault([]),
    http: http.optional(),
    grpc: grpc.optional(),
    mcp: mcp.optional(),
  })
  .refine((tool) => [tool.http, tool.grpc, tool.mcp].filter(Boolean).length === 1, {
    error: "must have exactly one of http, grpc and mcp",
  })
  .refine(({ price, meter }) => meter === undefined || !("free" in price), {
    error: "leave it out of a free tool",
    path: ["meter"],
  })
  .refine(({ meter, grpc }) => meter?.field === undefined || grpc !== undefined, {
    error: "is for gRPC; use json_pointer",
    path: ["meter", "field"],
  })
  .refine(({ meter, mcp }) => (meter?.header ?? meter?.trailer) === undefined || mcp === undefined, {
    error: "must have json_pointer or expression for a tool of an MCP server",
    path: ["meter"],
  });

/** The `tools` section: the operator's custom tools in catalogue order. */
export const customToolsSchema = z.array(customTool).prefault([]);

export type CustomToolsSection = z.output<typeof customToolsSchema>;

export type CustomToolSection = CustomToolsSection[number];

export type PriceSection = z.output<typeof price>;

export type MeterSection = z.output<typeof meter>;

/** Paths are absolute after {@link resolveCustomTools}. */
export type HttpSection = z.output<typeof http>;
export type GrpcSection = z.output<typeof grpc>;
export type McpSection = z.output<typeof mcp>;
