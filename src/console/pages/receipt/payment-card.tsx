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
        <p className="soft">Taken from the balance: no transaction of its own.</p>
      </Card>
    );
  }
  const surplus = payment.amountUsdcMicrousd - receipt.debitedUsdcMicrousd;
  return (
    <Card title="Payment on the chain">
      <Facts
        facts={[
          ["Finality", <Finality key="finality" payment={payment} />],
          ["Transaction", <Transaction key="transaction" signature={payment.txSignature} />],
          ["Received", <Money key="amount" microUsd={payment.amountUsdcMicrousd} />],
          [
            "Surplus",
            surplus > 0n && !payment.reversed ? `${formatUsd(surplus)} went to your balance` : undefined,
          ],
          [
            "Payer",
            payment.payer === undefined ? (
              "could not be told"
            ) : (
              <Address key="payer" address={payment.payer} label="payer" />
            ),
          ],
          ["Slot", formatCount(payment.slot).replaceAll(",", " ")],
          ["Block time", <Time key="time" at={payment.blockTime} none="not told by the chain" />],
        ]}
      />
    </Card>
  );
}

function Finality({ payment: { reversed, finalized } }: { payment: ChainPayment }) {
  if (reversed) return <Status kind="bad">vanished from the chain, credit taken back</Status>;
  if (finalized) return <Status kind="ok">finalized</Status>;
  return <Status kind="wait">confirmed, not final yet</Status>;
}
