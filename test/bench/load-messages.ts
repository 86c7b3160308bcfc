import { z } from "zod";

/** A request and its expected response. */
const loadJob = z.object({
  host: z.string(),
  port: z.int(),
  /** Concurrent calls, each on its own connection (gRPC: stream). */
  connections: z.int(),
  /** Used in turn. HTTP: whole requests; gRPC: Authorization values, all with the same message. */
  requests: z.array(z.string()).min(1),
  /** HTTP: each of them once; who finds none left calls no more. */
  once: z.boolean().optional(),
  /** HTTP: the status and part of the body. gRPC: `status` 0 and the response in base64. */
  expect: z.object({ status: z.int(), body: z.string() }),
  /** gRPC: the request message in base64. */
  message: z.string().optional(),
});
export type LoadJob = z.output<typeof loadJob>;

/** Commands to a load generator. */
export const loadCommand = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("start"), job: loadJob }),
  z.object({ kind: z.literal("sample") }),
  z.object({ kind: z.literal("pause") }),
]);
export type LoadCommand = z.output<typeof loadCommand>;

/** Its reports, one per command. */
export const loadReport = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("started") }),
  z.object({
    kind: z.literal("sample"),
    answers: z.number(),
    atMs: z.number(),
    /** Of the answers since the last sample. */
    p50Ms: z.number().optional(),
    p99Ms: z.number().optional(),
  }),
  z.object({ kind: z.literal("paused") }),
  z.object({ kind: z.literal("failed"), message: z.string() }),
]);
export type LoadReport = z.output<typeof loadReport>;
