import { z } from "zod";
import { MAX_MICRO_USD } from "../domain/core/money.ts";

/** Micro-USD, at least 1. */
const microUsd = z
  .int()
  .min(1)
  .max(Number(MAX_MICRO_USD))
  .transform((amount) => BigInt(amount));

/** The `prices` section of the configuration file. The `inference` section holds the prices of models. */
export const pricesSchema = z
  .strictObject({
    vram_estimate: z
      .strictObject({
        flat_microusd: microUsd.prefault(1_000).describe("Price of an estimate"),
      })
      .prefault({}),
    sandbox_execute: z
      .strictObject({
        microusd_per_second: microUsd
          .prefault(100)
          .describe("Price of a second of the time limit that the caller asks for"),
        minimum_microusd: microUsd.prefault(1_000).describe("Least price of an execution"),
      })
      .prefault({}),
  })
  .prefault({});

export type Prices = z.output<typeof pricesSchema>;
