import { Link } from "wouter";
import type { FailureUsage, GetUsageResponse, Usage } from "#gen/toolgate/console/v1/balance_service_pb.ts";
import { formatCount } from "../../format.ts";
import { Aligned, Columns, Money, Name, Table, type Column } from "../../ui/index.ts";
import { activityHref } from "../activity/filter.ts";
import { failuresFilter } from "./usage-chart.tsx";

interface UsageRow {
  readonly id: string;
  readonly name: string;
  readonly href: string | undefined;
  readonly usage: Usage;
}

/** Usage by tool and by key, and failures by code. Both tables end with the same total. */
export function UsageTables({ usage, total }: { usage: GetUsageResponse; total: Usage }) {
  const tools = usage.tools.flatMap(({ tool, usage }) =>
    usage ? [{ id: tool, name: tool, href: activityHref({ tool }), usage }] : [],
  );
  const keys = usage.keys.flatMap(({ keyId, name, usage }) =>
    usage
      ? [
          {
            id: keyId,
            name: keyId === "" ? "unknown key" : name === "" ? keyId : name,
            href: keyId === "" ? undefined : activityHref({ key: keyId }),
            usage,
          },
        ]
      : [],
  );
  return (
    <div className="usage-tables">
      <Aligned amounts={[...tools, ...keys, { usage: total }].map(({ usage }) => usage.spentUsdcMicrousd)}>
        <Columns>
          <UsageTable what="Tool" parts={tools} total={total} />
          <UsageTable what="Key" parts={keys} total={total} />
        </Columns>
      </Aligned>
      {usage.failures.length > 0 && <Failures failures={usage.failures} />}
    </div>
  );
}

function UsageTable({ what, parts, total }: { what: string; parts: readonly UsageRow[]; total: Usage }) {
  return (
    <Table
      caption={`By ${what.toLowerCase()}`}
      columns={usageColumns(what, total)}
      rows={parts}
      rowKey={({ id }) => id}
      empty={<p className="faint">No charges.</p>}
      scroll
    />
  );
}

function usageColumns(what: string, total: Usage): readonly Column<UsageRow>[] {
  return [
    { head: what, cell: (part) => <ShareOfTotal part={part} total={total} />, footer: "Total" },
    {
      head: "Calls",
      align: "end",
      cell: ({ usage }) => formatCount(usage.chargedCalls),
      footer: formatCount(total.chargedCalls),
    },
    {
      head: "Spent",
      align: "end",
      cell: ({ usage }) => <Money microUsd={usage.spentUsdcMicrousd} aligned />,
      footer: <Money microUsd={total.spentUsdcMicrousd} aligned />,
    },
  ];
}

function ShareOfTotal({ part, total }: { part: UsageRow; total: Usage }) {
  const permille =
    total.spentUsdcMicrousd > 0n
      ? Number((part.usage.spentUsdcMicrousd * 1_000n) / total.spentUsdcMicrousd)
      : 0;
  return (
    <span className="share">
      {part.href === undefined ? (
        part.name
      ) : (
        <Link href={part.href}>
          <Name name={part.name} />
        </Link>
      )}
      <span className="share-line" aria-hidden="true">
        <span style={{ width: `${permille / 10}%` }} />
      </span>
    </span>
  );
}

function Failures({ failures }: { failures: readonly FailureUsage[] }) {
  return (
    <p className="usage-failures">
      <span className="faint">Not charged, by error code:</span>
      {failures.map(({ code, calls }) => (
        <span key={code} className="usage-failure">
          <Link href={activityHref(failuresFilter(code))}>
            <code>{code}</code>
          </Link>{" "}
          {formatCount(calls)}
        </span>
      ))}
      <Link href={activityHref(failuresFilter(undefined))}>View requests</Link>
    </p>
  );
}
