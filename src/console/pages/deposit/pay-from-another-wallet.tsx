import type { Deposit } from "#gen/toolgate/console/v1/deposit_service_pb.ts";
import { formatPlainUsd } from "../../format.ts";
import { Card, Copyable, Facts, Note } from "../../ui/index.ts";
import { QrCode } from "./qr-code.tsx";

/** Pays by QR code, Solana Pay link or manual transfer. */
export function PayFromAnotherWallet({ deposit }: { deposit: Deposit }) {
  const { solanaPayUrl, recipient, amountUsdcMicrousd, memo, usdcMint } = deposit;
  return (
    <Card title="Pay from another wallet">
      <div className="pay-elsewhere">
        <div className="pay-scan">
          <QrCode text={solanaPayUrl} label="Solana Pay code of this deposit" />
          <a href={solanaPayUrl}>Open in a wallet app</a>
        </div>
        <div>
          <p>
            Scan it with the wallet on your phone: amount and memo are in it. Or send it by hand, exactly so:
          </p>
          <Facts
            facts={[
              ["To", <Copyable key="to" text={recipient} label="address" />],
              ["USDC", <Copyable key="amount" text={formatPlainUsd(amountUsdcMicrousd)} label="amount" />],
              ["Memo", <Copyable key="memo" text={memo} label="memo" />],
              ["Token", <Copyable key="mint" text={usdcMint} label="mint of USDC" />],
            ]}
          />
        </div>
      </div>
      <Note tone="warn" title="Do not leave out the memo">
        Without it nobody can tell whose payment it is: it is kept aside until the operator assigns it to you
        by hand. Many exchanges cannot send a memo; withdraw to your own wallet first.
      </Note>
    </Card>
  );
}
