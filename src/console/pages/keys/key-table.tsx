import type { KeyWithUse } from "#gen/toolgate/console/v1/key_service_pb.ts";
import type { KeyGroup } from "#gen/toolgate/v1/budget_pb.ts";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { pluralize, formatUsd } from "../../format.ts";
import { useBlockedHint } from "../../session.tsx";
import {
  Button,
  EmptyState,
  Money,
  Name,
  Status,
  Table,
  Time,
  type Column,
  actionColumn,
} from "../../ui/index.ts";
import { Budgets } from "./budgets.tsx";
import { keyState, isKeyActive } from "./key-state.ts";

export interface KeyActions {
  onEdit: (key: KeyWithUse) => void;
  onRotate: (key: KeyWithUse) => void;
  onRevoke: (key: KeyWithUse) => void;
  /** Undefined while the form is open. */
  onCreate: (() => void) | undefined;
}

export function KeyTable({
  keys,
  groups,
  now,
  onCreate,
  ...actions
}: KeyActions & {
  keys: readonly KeyWithUse[] | undefined;
  groups: readonly KeyGroup[];
  now: Date;
}) {
  const columns: readonly Column<KeyWithUse>[] = [
    { head: "Key", cell: (use) => <KeyName use={use} now={now} /> },
    { head: "Limits", cell: (use) => <Limits use={use} now={now} groups={groups} /> },
    { head: "Budget", align: "end", cell: (use) => <KeyBudgets use={use} now={now} /> },
    { head: "Spent", align: "end", cell: (use) => <Spent use={use} /> },
    {
      head: "Last used",
      align: "end",
      cell: ({ lastUsedAt }) => <Time at={lastUsedAt} relative none="never" />,
    },
    actionColumn((use) => isKeyActive(use, now) && <Actions use={use} {...actions} />),
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
            onCreate && (
              <Button tone="primary" onClick={onCreate}>
                Create a key
              </Button>
            )
          }
        >
          Agents call tools with an API key. Create one per agent and limit what it can spend.
        </EmptyState>
      }
    />
  );
}

function KeyName({ use, now }: { use: KeyWithUse; now: Date }) {
  const { key } = use;
  return (
    <div className="key-name">
      <span className="row">
        <strong>
          <Name name={key?.name === "" ? "unnamed" : (key?.name ?? "")} />
        </strong>
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

function Limits({ use, now, groups }: { use: KeyWithUse; now: Date; groups: readonly KeyGroup[] }) {
  const limits = use.key?.limits;
  const lines: ReactNode[] = [];
  const group = groups.find(({ groupId }) => groupId === use.key?.groupId);
  if (group) lines.push(`group ${group.name}`);
  if (limits?.callUsdcMicrousd !== undefined) lines.push(`${formatUsd(limits.callUsdcMicrousd)} per call`);
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
  if (lines.length === 0) return <span className="faint none">—</span>;
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

function KeyBudgets({ use, now }: { use: KeyWithUse; now: Date }) {
  const uses = use.key?.budgets ?? [];
  if (!isKeyActive(use, now)) return <span className="faint none">—</span>;
  return uses.length > 0 ? <Budgets uses={uses} /> : <span className="faint">No limit</span>;
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

function Actions({ use, onEdit, onRotate, onRevoke }: { use: KeyWithUse } & Omit<KeyActions, "onCreate">) {
  const name = use.key?.name ?? "";
  const blockedHint = useBlockedHint();
  return (
    <div className="actions">
      <Button
        small
        tone="quiet"
        aria-label={`Edit ${name}`}
        disabled={blockedHint !== undefined}
        title={blockedHint}
        onClick={() => onEdit(use)}
      >
        Edit
      </Button>
      <Button
        small
        tone="quiet"
        aria-label={`Rotate ${name}`}
        disabled={blockedHint !== undefined}
        title={blockedHint}
        onClick={() => onRotate(use)}
      >
        Rotate
      </Button>
      <Button small tone="quiet" aria-label={`Revoke ${name}`} onClick={() => onRevoke(use)}>
        Revoke
      </Button>
    </div>
  );
}
