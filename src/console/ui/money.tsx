import { createContext, use, type ReactNode } from "react";
import { decimalsOf, formatSignedUsd, formatUsd } from "../format.ts";
import { classes } from "./classes.ts";
import type { Column } from "./table.tsx";

const Decimals = createContext(6);

/** Sets the decimals for `aligned` amounts in a table: as many as the longest of `amounts`, micro-USD. */
export function Aligned({ amounts, children }: { amounts: readonly bigint[]; children: ReactNode }) {
  return <Decimals value={Math.max(2, ...amounts.map(decimalsOf))}>{children}</Decimals>;
}

/** An amount of micro-USD. `aligned` pads it so that decimal points line up. */
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

/** A column of amounts, micro-USD. */
export function moneyColumn<Row>(
  head: string,
  amountOf: (row: Row) => bigint,
  more?: Pick<Column<Row>, "lead" | "footer">,
): Column<Row> {
  return { head, align: "end", cell: (row) => <Money microUsd={amountOf(row)} aligned />, ...more };
}

/** A signed amount of micro-USD. `aligned` as in {@link Money}. */
export function SignedMoney({ microUsd, aligned = false }: { microUsd: bigint; aligned?: boolean }) {
  const text = formatSignedUsd(microUsd);
  return (
    <span className={classes("money", microUsd > 0n && "money-added")}>
      {text}
      {aligned && <DecimalPadding decimals={decimalsOf(microUsd)} />}
    </span>
  );
}

/** Invisible padding: neither announced nor copied. */
function DecimalPadding({ decimals }: { decimals: number }) {
  const missing = use(Decimals) - decimals;
  return missing > 0 ? <span className="money-room" data-room={"0".repeat(missing)} /> : null;
}
