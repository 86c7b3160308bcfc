import { formatSignedUsd, formatUsd } from "../format.ts";
import { classes } from "./classes.ts";

/** An amount of micro-USD. */
export function Money({ microUsd, strong = false }: { microUsd: bigint; strong?: boolean }) {
  return (
    <span className={classes("money", strong && "strong", microUsd < 0n && "money-below")}>{formatUsd(microUsd)}</span>
  );
}

/** An amount of micro-USD that was added or taken, with its sign. */
export function SignedMoney({ microUsd }: { microUsd: bigint }) {
  return <span className={classes("money", microUsd > 0n && "money-added")}>{formatSignedUsd(microUsd)}</span>;
}
