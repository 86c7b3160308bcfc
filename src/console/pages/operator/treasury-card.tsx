import type { FeePayerStatus, TreasuryStatus } from "#gen/toolgate/v1/operations_service_pb.ts";
import { Card, Facts, Money, Note, Status, Time } from "../../ui/index.ts";
import { Address } from "../on-chain.tsx";
import { formatSol } from "./sol.ts";

/** Treasury balance against the ledger, and the fee payer's SOL. */
export function TreasuryCard({
  treasury,
  feePayer,
}: {
  treasury: TreasuryStatus | undefined;
  feePayer: FeePayerStatus | undefined;
}) {
  return (
    <Card title="Treasury" actions={treasury && <ReconciliationStatus treasury={treasury} />}>
      {treasury && treasury.problem !== "" && <Note tone="bad" title={treasury.problem} />}
      {treasury && (
        <Facts
          facts={[
            [
              "Held on the chain",
              <Amount key="held" microUsd={treasury.heldUsdcMicrousd} none="no endpoint tells" />,
            ],
            [
              "Expected by the books",
              <Amount
                key="expected"
                microUsd={treasury.expectedUsdcMicrousd}
                none="the watch has not begun"
              />,
            ],
            ["Last look at all of it", <Time key="look" at={treasury.lookedAt} relative none="none yet" />],
            ["Token account", <Address key="token" address={treasury.tokenAccount} label="token account" />],
            ["Wallet", <Address key="owner" address={treasury.owner} label="treasury’s wallet" />],
          ]}
        />
      )}
      <h3>Fee payer</h3>
      {feePayer ? (
        <FeePayer feePayer={feePayer} />
      ) : (
        <p className="soft">Gasless payments are off: none is needed.</p>
      )}
    </Card>
  );
}

function ReconciliationStatus({
  treasury: { problem, heldUsdcMicrousd: held, expectedUsdcMicrousd: expected },
}: {
  treasury: TreasuryStatus;
}) {
  if (problem !== "") return <Status kind="bad">look at it</Status>;
  if (held === undefined || expected === undefined) return <Status kind="wait">not known yet</Status>;
  return held === expected ? <Status kind="ok">adds up</Status> : <Status kind="warn">being followed</Status>;
}

function Amount({ microUsd, none }: { microUsd: bigint | undefined; none: string }) {
  return microUsd === undefined ? (
    <span className="faint">{none}</span>
  ) : (
    <Money microUsd={microUsd} strong />
  );
}

function FeePayer({ feePayer }: { feePayer: FeePayerStatus }) {
  const { address, lamports, lowLamports, spentTodayLamports, dailyLamports } = feePayer;
  const low = lamports !== undefined && lamports < lowLamports;
  return (
    <>
      {low && (
        <Note tone="warn" title="The fee payer is low">
          Send it SOL: below {formatSol(lowLamports)} gasless payments may stop.
        </Note>
      )}
      <Facts
        facts={[
          ["Holds", lamports === undefined ? "no endpoint tells" : formatSol(lamports)],
          ["Spent today", `${formatSol(spentTodayLamports)} of ${formatSol(dailyLamports)}`],
          ["Address", <Address key="address" address={address} label="fee payer’s address" />],
        ]}
      />
    </>
  );
}
