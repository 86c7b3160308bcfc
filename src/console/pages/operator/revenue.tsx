import { useQuery } from "@connectrpc/connect-query";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Link, useSearchParams } from "wouter";
import {
  OperationsService,
  type AccountRevenue,
  type GetRevenueResponse,
  type ModelMargin,
} from "#gen/toolgate/v1/operations_service_pb.ts";
import { formatCount, formatUsd, pluralize, truncateMiddle } from "../../format.ts";
import { Aligned, Card, Choice, EmptyState, Money, Stat, Stats, Table, type Column } from "../../ui/index.ts";
import { usageWindow } from "../overview/time-range.ts";
import { useCurrentHour } from "../overview/use-current-hour.ts";
import { QueryResult } from "../query-result.tsx";
import { OperatorPage } from "./operator-page.tsx";
import "./operator.css";

const RANGES = (["24h", "7d", "30d", "12m"] as const).map((value) => ({ value, label: value }));

export function RevenuePage() {
  return (
    <OperatorPage title="Revenue" lead="Charges of all accounts. Days are UTC.">
      <Revenue />
    </OperatorPage>
  );
}

function Revenue() {
  const [params, setParams] = useSearchParams();
  const span = RANGES.find(({ value }) => value === params.get("span"))?.value ?? "30d";
  const { from } = usageWindow(span, useCurrentHour());
  const query = useQuery(
    OperationsService.method.getRevenue,
    { from: timestampFromDate(from) },
    { refetchInterval: 60_000 },
  );
  return (
    <>
      <div className="actions">
        <Choice
          label="Time range"
          options={RANGES}
          value={span}
          onChange={(value) => setParams({ span: value }, { replace: true })}
        />
      </div>
      <QueryResult query={query} lines={8} box>
        {(report) => <Report report={report} />}
      </QueryResult>
    </>
  );
}

function Report({ report }: { report: GetRevenueResponse }) {
  const { accounts, models, accountCount } = report;
  return (
    <>
      <Stats>
        <Stat
          label="Charged"
          value={formatUsd(report.chargedUsdcMicrousd)}
          note={pluralize(report.calls, "call")}
        />
        <Stat label="Refunded" value={formatUsd(report.refundedUsdcMicrousd)} />
        <Stat label="Paying accounts" value={formatCount(accountCount)} />
      </Stats>
      <Card
        title="By account"
        note={accountCount > BigInt(accounts.length) ? `the ${accounts.length} highest` : undefined}
        flush
      >
        <Aligned amounts={accounts.flatMap((row) => [row.chargedUsdcMicrousd, row.refundedUsdcMicrousd])}>
          <Table
            caption="Revenue by account"
            columns={ACCOUNT_COLUMNS}
            rows={accounts}
            rowKey={({ accountId }) => accountId}
            empty={<EmptyState title="No charges in this time" />}
          />
        </Aligned>
      </Card>
      <Card title="By model" note="margin: charged minus cost, where the cost is known" flush>
        <Aligned amounts={models.flatMap((row) => [row.chargedUsdcMicrousd, row.costUsdcMicrousd])}>
          <Table
            caption="Margin by model"
            columns={MODEL_COLUMNS}
            rows={models.filter(({ model }) => model !== "")}
            rowKey={({ model }) => model}
            empty={<EmptyState title="No calls of models in this time" />}
          />
        </Aligned>
      </Card>
    </>
  );
}

const ACCOUNT_COLUMNS: readonly Column<AccountRevenue>[] = [
  {
    head: "Account",
    cell: ({ accountId }) => (
      <Link href={`/operator/accounts/${accountId}`}>{truncateMiddle(accountId, 10, 6)}</Link>
    ),
  },
  { head: "Calls", align: "end", cell: ({ calls }) => formatCount(calls) },
  { head: "Charged", align: "end", cell: (row) => <Money microUsd={row.chargedUsdcMicrousd} aligned /> },
  { head: "Refunded", align: "end", cell: (row) => <Money microUsd={row.refundedUsdcMicrousd} aligned /> },
];

const MODEL_COLUMNS: readonly Column<ModelMargin>[] = [
  { head: "Model", cell: ({ model }) => <code>{model}</code> },
  { head: "Calls", align: "end", cell: ({ calls }) => formatCount(calls) },
  { head: "Charged", align: "end", cell: (row) => <Money microUsd={row.chargedUsdcMicrousd} aligned /> },
  { head: "Cost", align: "end", cell: (row) => <Cost row={row} /> },
  { head: "Margin", align: "end", cell: (row) => <Margin row={row} /> },
];

function Cost({ row }: { row: ModelMargin }) {
  if (row.costedUsdcMicrousd === 0n) return <span className="faint">unknown</span>;
  return (
    <div className="lines">
      <Money microUsd={row.costUsdcMicrousd} aligned />
      {row.costedUsdcMicrousd < row.chargedUsdcMicrousd && (
        <span className="hint">of {formatUsd(row.costedUsdcMicrousd)} charged; the rest is unknown</span>
      )}
    </div>
  );
}

function Margin({ row: { costedUsdcMicrousd: charged, costUsdcMicrousd: cost } }: { row: ModelMargin }) {
  if (charged === 0n) return <span className="faint">unknown</span>;
  const permille = Number(((charged - cost) * 1_000n) / charged);
  return (
    <div className="lines">
      <Money microUsd={charged - cost} aligned />
      <span className="hint">{(permille / 10).toFixed(1)} %</span>
    </div>
  );
}
