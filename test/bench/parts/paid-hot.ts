import type { Part } from "../bench.ts";
import { paidCalls } from "./paid-call.ts";

/** Paid calls of one account, whose row all of them change. */
export const paidHot: Part = {
  name: "paid-hot",
  title: "6. paid call, one account",
  why: "A customer with many agents on one balance",
  run: async (bench) => (await paidCalls(bench, await bench.world.createDatabase("paid_hot"), 1)).lines,
};
