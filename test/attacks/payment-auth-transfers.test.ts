import { describe } from "vitest";
import { proofs } from "./scene.ts";

/** The transfers of other attacks, proven by `Authorization: Payment` instead of X-Payment. */

proofs.by = "Authorization";
describe("proven by a credential", async () => {
  await import("./amounts-and-times.test.ts");
  await import("./memos.test.ts");
  await import("./odd-payments.test.ts");
  await import("./replays.test.ts");
});
