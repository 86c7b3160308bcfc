import { timestampDate } from "@bufbuild/protobuf/wkt";
import { BudgetLevel, BudgetPeriod, type BudgetUse } from "#gen/toolgate/v1/budget_pb.ts";
import { formatUsd } from "../../format.ts";
import { Status } from "../../ui/index.ts";

const LEFT: Partial<Record<BudgetPeriod, string>> = {
  [BudgetPeriod.DAY]: "left today",
  [BudgetPeriod.MONTH]: "left this month",
  [BudgetPeriod.TOTAL]: "left in all",
};

const SPENT: Partial<Record<BudgetPeriod, string>> = {
  [BudgetPeriod.DAY]: "today",
  [BudgetPeriod.MONTH]: "this month",
  [BudgetPeriod.TOTAL]: "in all",
};

export function Budgets({ uses }: { uses: readonly BudgetUse[] }) {
  return (
    <ul className="budgets">
      {uses.map((use) => (
        <li className="today" key={use.period}>
          <Budget use={use} />
        </li>
      ))}
    </ul>
  );
}

function Budget({ use }: { use: BudgetUse }) {
  const { period, limitUsdcMicrousd: limit, heldUsdcMicrousd: held } = use;
  const used = use.spentUsdcMicrousd + held;
  if (limit === undefined)
    return (
      <span className="money">
        {formatUsd(used)} <span className="faint">{SPENT[period]}</span>
      </span>
    );
  const left = `${formatUsd(limit > used ? limit - used : 0n)} ${LEFT[period] ?? ""}`;
  return (
    <>
      <span className="money">
        {formatUsd(used)} <span className="faint">of {formatUsd(limit)}</span>
      </span>
      <Meter used={used} limit={limit} warn={use.reached !== BudgetLevel.UNSPECIFIED} />
      <span className="hint" title={titleOf(use)}>
        {left}
        {held > 0n && `, ${formatUsd(held)} held`}
      </span>
      {use.reached === BudgetLevel.LIMIT && <Status kind="warn">Limit reached</Status>}
      {use.reached === BudgetLevel.THRESHOLD && <Status kind="warn">Warning level reached</Status>}
    </>
  );
}

function titleOf({ resetsAt }: BudgetUse): string | undefined {
  return resetsAt && `Resets at ${timestampDate(resetsAt).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** A visual copy of the figures beside it. */
function Meter({ used, limit, warn }: { used: bigint; limit: bigint; warn: boolean }) {
  const percent = Number(used >= limit ? 100n : (used * 100n) / limit);
  return (
    <span className={warn ? "meter is-full" : "meter"} aria-hidden="true">
      <span style={{ width: `${percent}%` }} />
    </span>
  );
}
