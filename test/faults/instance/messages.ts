import { z } from "zod";
import { PORT_POINTS } from "../points.ts";

/** What the lab tells an instance, one line of JSON each. */
export const command = z.union([
  z.object({ start: z.object({ databaseUrl: z.string(), seed: z.string(), skewMs: z.number() }) }),
  z.object({
    order: z.object({
      point: z.enum(PORT_POINTS),
      action: z.enum(["kill", "stall", "delay", "fail"]),
      ms: z.number(),
    }),
  }),
  z.object({ withdraw: z.literal(true) }),
]);

/** What an instance tells the lab, written before it goes on: one that kills itself has said so. */
export const report = z.union([
  z.object({ ready: z.object({ baseUrl: z.string() }) }),
  z.object({
    struck: z.object({
      point: z.enum(PORT_POINTS),
      action: z.enum(["kill", "stall", "delay", "fail"]),
      ms: z.number(),
    }),
  }),
  z.object({ lost: z.literal(true) }),
]);

export type Command = z.output<typeof command>;
export type Report = z.output<typeof report>;
