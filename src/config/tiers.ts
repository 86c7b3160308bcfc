import { z } from "zod";
import { DEFAULT_TIER, MAX_TIER, type Tiers } from "../domain/accounts/rate-limit.ts";

const rate = z.int().min(1).max(MAX_TIER.ratePerMinute);
const burst = z.int().min(1).max(MAX_TIER.burst);

/** The `tiers` section of the configuration file: rate limits by name. */
export const tiersSchema = z
  .record(
    z.string().regex(/^[a-z0-9][a-z0-9_-]{0,39}$/, "is 1 to 40 characters of a-z, 0-9, _ and -"),
    z.strictObject({
      rate_per_minute: rate,
      burst,
      account_rate_per_minute: rate.optional(),
      account_burst: burst.optional(),
    }),
  )
  .default({})
  .transform((tiers): Tiers => ({
    default: { rate_per_minute: DEFAULT_TIER.ratePerMinute, burst: DEFAULT_TIER.burst },
    ...tiers,
  }));
