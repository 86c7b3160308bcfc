import { useQuery } from "@connectrpc/connect-query";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { BalanceService, type GetBalanceResponse } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { useCatalogue } from "../../rpc.ts";
import { pluralize, formatUsd } from "../../format.ts";
import { ButtonLink, Card, Money, Note, Stat, Stats } from "../../ui/index.ts";
import { QueryResult } from "../query-result.tsx";
import { affordableCalls, type AffordableCalls } from "./affordable-calls.ts";
import { usageWindow } from "./time-range.ts";
import { useCurrentHour } from "./use-current-hour.ts";

export function BalanceCard() {
  const balance = useQuery(BalanceService.method.getBalance, {}, { refetchInterval: 10_000 });
  return (
    <QueryResult query={balance} lines={4} height={24} box>
      {(data) => (
        <>
          <BalanceWarning balance={data} />
          <Card>
            <div className="balance">
              <div>
                <h2 className="balance-label">Balance</h2>
                <p className="balance-figure">
                  <Figure microUsd={data.balanceUsdcMicrousd} />
                </p>
                <AffordableCallsList balance={data.balanceUsdcMicrousd} />
              </div>
              <Stats>
                <Stat
                  label="Reserved"
                  value={<Money microUsd={data.heldUsdcMicrousd} />}
                  note={data.heldUsdcMicrousd === 0n ? "no calls running" : "for running calls"}
                />
                <Stat
                  label="Spent today"
                  value={<Money microUsd={data.spentTodayUsdcMicrousd} />}
                  note="since 00:00 UTC"
                />
                <Stat
                  label="Last 30 days"
                  value={<Money microUsd={data.spent30DaysUsdcMicrousd} />}
                  note="including today"
                />
              </Stats>
            </div>
          </Card>
        </>
      )}
    </QueryResult>
  );
}

/** Shows fractions of a cent in a smaller size. */
function Figure({ microUsd }: { microUsd: bigint }) {
  const text = formatUsd(microUsd);
  const cents = text.indexOf(".") + 3;
  return (
    <span className={microUsd < 0n ? "money money-below" : "money"}>
      {text.slice(0, cents)}
      {text.length > cents && <span className="balance-fraction">{text.slice(cents)}</span>}
    </span>
  );
}

function BalanceWarning({ balance }: { balance: GetBalanceResponse }) {
  const deposit = (
    <ButtonLink href="/deposit" small>
      Deposit
    </ButtonLink>
  );
  if (balance.balanceUsdcMicrousd < 0n) {
    return (
      <Note
        tone="bad"
        title={`The balance is negative: ${formatUsd(balance.balanceUsdcMicrousd)}`}
        action={deposit}
      >
        A payment that you had already spent was reversed on the network, so its credit was removed. Paid
        calls are rejected until the balance is zero or more; free tools keep working.
      </Note>
    );
  }
  if (!balance.low) return null;
  return (
    <Note tone="warn" title="The balance is low" action={deposit}>
      It is below your threshold of {formatUsd(balance.lowBalanceUsdcMicrousd ?? 0n)}. Calls that it does not
      cover return a quote to pay (402).
    </Note>
  );
}

function AffordableCallsList({ balance }: { balance: bigint }) {
  const catalogue = useCatalogue();
  const { from, hourly } = usageWindow("30d", useCurrentHour());
  const usage = useQuery(BalanceService.method.getUsage, { from: timestampFromDate(from), hourly });
  if (balance <= 0n)
    return <p className="balance-reach">Until you deposit, paid calls return a quote to pay.</p>;
  const reaches = affordableCalls(balance, catalogue.data?.tools ?? [], usage.data?.tools ?? []);
  // Reserve the line to avoid a layout shift.
  if (reaches.length === 0) return <p className="balance-reach">&nbsp;</p>;
  return (
    <ul className="balance-reach">
      {reaches.map((reach) => (
        <li key={reach.tool}>
          about <strong>{pluralize(reach.calls, "call")}</strong> of <code>{reach.tool}</code> {basis(reach)}
        </li>
      ))}
    </ul>
  );
}

function basis({ basis }: AffordableCalls): string {
  return basis === "average" ? "at your average cost" : "at its current price";
}
