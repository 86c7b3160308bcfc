// Buys a tool call and pays gasless: in USDC, without SOL, with the standard library only.
//
//	TOOLGATE_URL=http://127.0.0.1:8080 TOOLGATE_KEY=sk-agent-… WALLET=wallet.json go run main.go
package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log"
	"math/big"
	"net/http"
	"os"
	"time"
)

const (
	call     = `{"tool":"vram_estimate","params":{"model":"llama-3.1-8b","context_length":8192}}`
	maxPrice = 10_000 // micro-USD
	usdc     = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
	token    = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
	budget   = "ComputeBudget111111111111111111111111111111"
	memo     = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"
)

// answer has the members that this program uses.
type answer struct {
	Code, Message string
	Receipt       json.RawMessage
	Quote         struct {
		ID    string `json:"quote_id"`
		Price uint64 `json:"price_usdc_microusd"`
	}
	Instructions struct {
		PayTo string `json:"pay_to"`
	} `json:"payment_instructions"`
}

func post(path, body, payment string, into any) int {
	request, err := http.NewRequest("POST", os.Getenv("TOOLGATE_URL")+path, bytes.NewBufferString(body))
	must(err)
	request.Header.Set("Authorization", "Bearer "+os.Getenv("TOOLGATE_KEY"))
	request.Header.Set("Content-Type", "application/json")
	if payment != "" {
		request.Header.Set("X-Payment", payment)
	}
	response, err := http.DefaultClient.Do(request)
	must(err)
	defer response.Body.Close()
	must(json.NewDecoder(response.Body).Decode(into))
	return response.StatusCode
}

func base58(key []byte) string {
	const digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	number, digit, text := new(big.Int).SetBytes(key), new(big.Int), ""
	for number.Sign() > 0 {
		number.DivMod(number, big.NewInt(58), digit)
		text = digits[digit.Int64():digit.Int64()+1] + text
	}
	for i := 0; i < len(key) && key[i] == 0; i++ {
		text = "1" + text
	}
	return text
}

// movesOnly reports whether the message moves this amount of USDC from payer to payTo, and nothing else.
func movesOnly(message []byte, payer, payTo string, amount uint64) bool {
	at := 3
	if message[0] == 128 { // version 0; legacy messages have no version byte
		at = 4
	}
	length := func() (n int) { // a length of one to three bytes
		for shift := 0; ; shift += 7 {
			n |= int(message[at]&127) << shift
			if at++; message[at-1] < 128 {
				return n
			}
		}
	}
	keys := make([]string, length())
	for i := range keys {
		keys[i], at = base58(message[at:at+32]), at+32
	}
	at += 32 // the blockhash
	transfers, checked := 0, binary.LittleEndian.AppendUint64([]byte{12}, amount)
	for left := length(); left > 0; left-- {
		program := keys[message[at]]
		at++
		n := length()
		accounts := message[at : at+n]
		at += n
		n = length()
		data := message[at : at+n]
		at += n
		if program == budget || program == memo { // these move nothing
			continue
		}
		// TransferChecked, with USDC's six decimals
		if program != token || len(accounts) != 4 || !bytes.Equal(data, append(checked, 6)) ||
			keys[accounts[1]] != usdc || keys[accounts[2]] != payTo || keys[accounts[3]] != payer {
			return false
		}
		transfers++
	}
	return transfers == 1 && keys[0] != payer // keys[0] pays the fee
}

// pay signs the transaction that pays the offer; it returns the value of X-Payment.
func pay(offer answer) string {
	file, err := os.ReadFile(os.Getenv("WALLET"))
	must(err)
	var numbers []int
	must(json.Unmarshal(file, &numbers))
	wallet := make(ed25519.PrivateKey, len(numbers))
	for i, number := range numbers {
		wallet[i] = byte(number)
	}
	payer := base58(wallet[32:])
	var built struct{ Transaction, Message string } // of an error, Message is text
	asked := fmt.Sprintf(`{"quote_id":%q,"payer":%q}`, offer.Quote.ID, payer)
	if status := post("/v1/payments/transaction", asked, "", &built); status != 200 {
		log.Fatalf("no transaction: %s", built.Message)
	}
	message, err := base64.StdEncoding.DecodeString(built.Message)
	must(err)
	transaction, err := base64.StdEncoding.DecodeString(built.Transaction)
	must(err)
	price := offer.Quote.Price
	if price > maxPrice || !movesOnly(message, payer, offer.Instructions.PayTo, price) {
		log.Fatalf("not signed: it is not a payment of at most %d micro-USD", maxPrice)
	}
	copy(transaction[65:129], ed25519.Sign(wallet, message))
	proof, err := json.Marshal(map[string]any{"transaction": transaction, "quote_id": offer.Quote.ID})
	must(err)
	return base64.RawURLEncoding.EncodeToString(proof)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	var got answer
	status := post("/v1/mcp/tools/call", call, "", &got)
	if got.Code == "PAYMENT_REQUIRED" {
		payment := pay(got)
		got = answer{}
		status = post("/v1/mcp/tools/call", call, payment, &got)
		for status == 503 { // not confirmed yet: the same proof again, never a second payment
			time.Sleep(2 * time.Second)
			status = post("/v1/mcp/tools/call", call, payment, &got)
		}
	}
	if status != 200 {
		log.Fatalf("%s: %s", got.Code, got.Message)
	}
	fmt.Println(string(got.Receipt))
}
