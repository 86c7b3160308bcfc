import type { KeyWithUse } from "#gen/toolgate/console/v1/key_service_pb.ts";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { pluralize, formatUsd } from "../../format.ts";
import { Button, EmptyState, Money, Status, Table, Time, type Column } from "../../ui/index.ts";
import { remainingToday, keyState, isKeyActive } from "./key-state.ts";

/** Actions on a key. */
export interface KeyActions {
  onRotate: (key: KeyWithUse) => void;
  onRevoke: (key: KeyWithUse) => void;
  onCreate: () => void;
}

/** API keys with their limits and usage. */
export function KeyTable({
  keys,
  balance,
  now,
  onRotate,
  onRevoke,
  onCreate,
}: KeyActions & { keys: readonly KeyWithUse[] | undefined; balance: bigint | undefined; now: Date }) {
  const columns: readonly Column<KeyWithUse>[] = [
    { head: "Key", cell: (use) => <Name use={use} now={now} /> },
    { head: "Limits", cell: (use) => <Limits use={use} now={now} /> },
    { head: "Today", align: "end", cell: (use) => <Today use={use} balance={balance} now={now} /> },
    { head: "Spent", align: "end", cell: (use) => <Spent use={use} /> },
    {
      head: "Last used",
      align: "end",
      cell: ({ lastUsedAt }) => <Time at={lastUsedAt} relative none="never" />,
    },
    {
      head: "Actions",
      hideHead: true,
      align: "end",
      cell: (use) => isKeyActive(use, now) && <Actions use={use} onRotate={onRotate} onRevoke={onRevoke} />,
    },
  ];
  return (
    <Table
      caption="API keys"
      columns={columns}
      rows={keys}
      rowKey={({ key }) => key?.keyId ?? ""}
      dim={(use) => !isKeyActive(use, now)}
      empty={
        <EmptyState
          title="No API keys yet"
          action={
            <Button tone="primary" onClick={onCreate}>
              Create a key
            </Button>
          }
        >
          Agents call tools with an API key. Create one per agent and limit what it can spend.
        </EmptyState>
      }
    />
  );
}

function Name({ use, now }: { use: KeyWithUse; now: Date }) {
  const { key } = use;
  return (
    <div className="key-name">
      <span className="row">
        <strong>{key?.name === "" ? "unnamed" : key?.name}</strong>
        <KeyStatus use={use} now={now} />
      </span>
      <code>{key?.prefix}…</code>
    </div>
  );
}

function KeyStatus({ use, now }: { use: KeyWithUse; now: Date }) {
  switch (keyState(use, now)) {
    case "active":
      return null;
    case "expiring":
      return (
        <Status kind="warn">
          expires <Time at={use.key?.limits?.expiresAt} relative />
        </Status>
      );
    case "expired":
      return <Status kind="off">Expired</Status>;
    case "revoked":
      return <Status kind="off">Revoked</Status>;
  }
}

function Limits({ use, now }: { use: KeyWithUse; now: Date }) {
  const limits = use.key?.limits;
  const lines: ReactNode[] = [];
  if (limits?.callUsdcMicrousd !== undefined) lines.push(`${formatUsd(limits.callUsdcMicrousd)} per call`);
  if (limits?.dayUsdcMicrousd !== undefined) lines.push(`${formatUsd(limits.dayUsdcMicrousd)} per day`);
  if (limits && limits.tools.length > 0)
    lines.push(<span title={limits.tools.join("\n")}>{toolsText(limits.tools)}</span>);
  // A near or past expiry is shown beside the name instead.
  if (limits?.expiresAt && keyState(use, now) === "active") {
    lines.push(
      <>
        expires <Time at={limits.expiresAt} relative />
      </>,
    );
  }
  if (lines.length === 0) return <span className="faint">No limit</span>;
  return (
    <ul className="lines">
      {lines.map((line, index) => (
        <li key={index}>{line}</li>
      ))}
    </ul>
  );
}

function toolsText(tools: readonly string[]): string {
  return tools.length > 2 ? pluralize(tools.length, "tool") : `only ${tools.join(", ")}`;
}

/** Shows today's spend, the daily limit, and what is left of it. */
function Today({ use, balance, now }: { use: KeyWithUse; balance: bigint | undefined; now: Date }) {
  const limit = use.key?.limits?.dayUsdcMicrousd;
  if (!isKeyActive(use, now)) return <span className="faint">—</span>;
  const left = remainingToday(use, balance);
  const short = limit !== undefined && left !== undefined && left < limit - use.dayUsedUsdcMicrousd;
  return (
    <div className="today">
      {limit !== undefined && (
        <>
          <span className="money">
            {formatUsd(use.dayUsedUsdcMicrousd)} <span className="faint">of {formatUsd(limit)}</span>
          </span>
          <Meter used={use.dayUsedUsdcMicrousd} limit={limit} />
        </>
      )}
      {left !== undefined && limit === undefined && <Money microUsd={left} />}
      {left !== undefined && (
        <span className="hint">
          {limit !== undefined && formatUsd(left)} left{(short || limit === undefined) && " in the balance"}
        </span>
      )}
    </div>
  );
}

/** A visual copy of the figures beside it. */
function Meter({ used, limit }: { used: bigint; limit: bigint }) {
  const percent = Number(used >= limit ? 100n : (used * 100n) / limit);
  return (
    <span className={percent >= 90 ? "meter is-full" : "meter"} aria-hidden="true">
      <span style={{ width: `${percent}%` }} />
    </span>
  );
}

function Spent({ use: { key, spentUsdcMicrousd, chargedCalls } }: { use: KeyWithUse }) {
  return (
    <div className="today">
      <Money microUsd={spentUsdcMicrousd} />
      <Link className="hint" href={`/activity?key=${key?.keyId ?? ""}`}>
        {pluralize(chargedCalls, "call")}
      </Link>
    </div>
  );
}

function Actions({
  use,
  onRotate,
  onRevoke,
}: { use: KeyWithUse } & Pick<KeyActions, "onRotate" | "onRevoke">) {
  const name = use.key?.name ?? "";
  return (
    <div className="actions">
      <Button small tone="quiet" aria-label={`Rotate ${name}`} onClick={() => onRotate(use)}>
        Rotate
      </Button>
      <Button small tone="quiet" aria-label={`Revoke ${name}`} onClick={() => onRevoke(use)}>
        Revoke
      </Button>
    </div>
  );
}
