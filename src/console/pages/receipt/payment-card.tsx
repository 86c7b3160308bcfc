import type { ChainPayment } from "#gen/toolgate/console/v1/history_service_pb.ts";
import type { Receipt } from "#gen/toolgate/v1/receipt_pb.ts";
import { formatCount, formatUsd } from "../../format.ts";
import { Card, Facts, Money, Status, Time } from "../../ui/index.ts";
import { Address, Transaction } from "../on-chain.tsx";

/** The on-chain payment of a call, if it was not paid from the balance. */
export function PaymentCard({ receipt, payment }: { receipt: Receipt; payment: ChainPayment | undefined }) {
  if (payment === undefined) {
    return (
      <Card title="Payment">
        <p className="soft">Paid from balance, without an on-chain transaction.</p>
      </Card>
    );
  }
  const surplus = payment.amountUsdcMicrousd - receipt.debitedUsdcMicrousd;
  return (
    <Card title="On-chain payment">
      <Facts
        facts={[
          ["Finality", <Finality key="finality" payment={payment} />],
          ["Transaction", <Transaction key="transaction" signature={payment.txSignature} />],
          ["Received", <Money key="amount" microUsd={payment.amountUsdcMicrousd} />],
          [
            "Surplus",
            surplus > 0n && !payment.reversed ? `${formatUsd(surplus)} credited to your balance` : undefined,
          ],
          [
            "Payer",
            payment.payer === undefined ? (
              "unknown"
            ) : (
              <Address key="payer" address={payment.payer} label="payer" />
            ),
          ],
          ["Slot", formatCount(payment.slot).replaceAll(",", " ")],
          ["Block time", <Time key="time" at={payment.blockTime} none="unknown" />],
        ]}
      />
    </Card>
  );
}

function Finality({ payment: { reversed, finalized } }: { payment: ChainPayment }) {
  if (reversed) return <Status kind="bad">Reversed, credit removed</Status>;
  if (finalized) return <Status kind="ok">Finalized</Status>;
  return <Status kind="wait">Confirmed, not final yet</Status>;
}
