import type { FeePayerStatus, TreasuryStatus } from "#gen/toolgate/v1/operations_service_pb.ts";
import { Card, Facts, Money, Note, Status, Time } from "../../ui/index.ts";
import { Address } from "../on-chain.tsx";

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
            ["On-chain balance", <Amount key="held" microUsd={treasury.heldUsdcMicrousd} none="unknown" />],
            [
              "Ledger balance",
              <Amount key="expected" microUsd={treasury.expectedUsdcMicrousd} none="not checked yet" />,
            ],
            ["Last full check", <Time key="look" at={treasury.lookedAt} relative none="never" />],
            ["Token account", <Address key="token" address={treasury.tokenAccount} label="token account" />],
            ["Wallet", <Address key="owner" address={treasury.owner} label="treasury wallet" />],
          ]}
        />
      )}
      <h3>Fee payer</h3>
      {feePayer ? (
        <FeePayer feePayer={feePayer} />
      ) : (
        <p className="soft">Not needed: gasless payments are disabled.</p>
      )}
    </Card>
  );
}

function ReconciliationStatus({
  treasury: { problem, heldUsdcMicrousd: held, expectedUsdcMicrousd: expected },
}: {
  treasury: TreasuryStatus;
}) {
  if (problem !== "") return <Status kind="bad">Problem</Status>;
  if (held === undefined || expected === undefined) return <Status kind="wait">Unknown</Status>;
  return held === expected ? <Status kind="ok">Balanced</Status> : <Status kind="warn">Catching up</Status>;
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
          Send SOL to it: below {formatSol(lowLamports)}, gasless payments may stop.
        </Note>
      )}
      <Facts
        facts={[
          ["Balance", lamports === undefined ? "unknown" : formatSol(lamports)],
          ["Spent today", `${formatSol(spentTodayLamports)} of ${formatSol(dailyLamports)}`],
          ["Address", <Address key="address" address={address} label="fee payer address" />],
        ]}
      />
    </>
  );
}

const LAMPORTS = 1_000_000_000n;

/** Formats lamports as SOL, exactly: `1.5 SOL`, `0.000005 SOL`. */
function formatSol(lamports: bigint): string {
  const decimals = (lamports % LAMPORTS).toString().padStart(9, "0").replace(/0+$/, "");
  return `${lamports / LAMPORTS}${decimals === "" ? "" : `.${decimals}`} SOL`;
}
