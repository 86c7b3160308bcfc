import { z } from "zod";

const order = z.object({
  point: z.string(),
  action: z.enum(["kill", "stall", "delay", "fail", "cut"]),
  ms: z.number(),
});

/** Messages to an instance, one JSON line each. */
export const command = z.union([
  z.object({ start: z.object({ databaseUrl: z.string(), seed: z.string(), skewMs: z.number() }) }),
  z.object({ order }),
  z.object({ withdraw: z.literal(true) }),
]);

/** Messages from an instance, written synchronously, so that they arrive before a kill. */
export const report = z.union([
  z.object({ ready: z.object({ baseUrl: z.string() }) }),
  z.object({ struck: order }),
  z.object({ lost: z.literal(true) }),
]);

export type Command = z.output<typeof command>;
export type Report = z.output<typeof report>;
