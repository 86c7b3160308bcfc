import { createContext, use, type ReactNode } from "react";
import { decimalsOf, formatSignedUsd, formatUsd } from "../format.ts";
import { classes } from "./classes.ts";

const Decimals = createContext(6);

/** Around a table with `aligned` amounts: as many decimals have room as one of the `amounts`, micro-USD, has. */
export function Aligned({ amounts, children }: { amounts: readonly bigint[]; children: ReactNode }) {
  return <Decimals value={Math.max(2, ...amounts.map(decimalsOf))}>{children}</Decimals>;
}

/** An amount of micro-USD. `aligned`: in a column, where the decimal points are to stand below each other. */
export function Money({
  microUsd,
  strong = false,
  aligned = false,
}: {
  microUsd: bigint;
  strong?: boolean;
  aligned?: boolean;
}) {
  const text = formatUsd(microUsd);
  return (
    <span className={classes("money", strong && "strong", microUsd < 0n && "money-below")}>
      {text}
      {aligned && <DecimalPadding decimals={decimalsOf(microUsd)} />}
    </span>
  );
}

/** An amount of micro-USD that was added or taken, with its sign. `aligned` as above. */
export function SignedMoney({ microUsd, aligned = false }: { microUsd: bigint; aligned?: boolean }) {
  const text = formatSignedUsd(microUsd);
  return (
    <span className={classes("money", microUsd > 0n && "money-added")}>
      {text}
      {aligned && <DecimalPadding decimals={decimalsOf(microUsd)} />}
    </span>
  );
}

/** Room for the decimals that are not written: as wide as they were, and neither read out nor copied. */
function DecimalPadding({ decimals }: { decimals: number }) {
  const missing = use(Decimals) - decimals;
  return missing > 0 ? <span className="money-room" data-room={"0".repeat(missing)} /> : null;
}
