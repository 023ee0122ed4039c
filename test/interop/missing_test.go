package interop

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// missingWait bounds how long a client may take to give up on a feature that is not there.
const missingWait = 30 * time.Second

// TestTransactionsRefused checks that each client takes the refusal of a transactional id as final.
// librdkafka repeats the request for ever if the code is any other one.
func TestTransactionsRefused(t *testing.T) {
	addr := startBroker(t)
	ctx, cancel := context.WithTimeout(t.Context(), missingWait)
	defer cancel()
	t.Run("librdkafka", func(t *testing.T) {
		p, err := kafka.NewProducer(librdkafka{addr}.config(kafka.ConfigMap{"transactional.id": "rdkafka"}))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		var failed kafka.Error
		if err := p.InitTransactions(ctx); !errors.As(err, &failed) || !failed.IsFatal() ||
			failed.Code() != kafka.ErrTransactionalIDAuthorizationFailed {
			t.Errorf("init transactions: %v, expected a fatal TRANSACTIONAL_ID_AUTHORIZATION_FAILED", err)
		}
	})
	t.Run("franz-go", func(t *testing.T) {
		cl, err := franz{addr: addr}.open(kgo.TransactionalID("franz"))
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		if _, _, err := cl.ProducerID(ctx); !errors.Is(err, kerr.TransactionalIDAuthorizationFailed) {
			t.Errorf("producer id: %v", err)
		}
	})
	t.Run("sarama", func(t *testing.T) {
		cfg := shopify{addr: addr, version: sarama.V2_8_0_0}.config()
		cfg.Producer.Idempotent, cfg.Producer.Transaction.ID, cfg.Net.MaxOpenRequests = true, "sarama", 1
		cfg.Producer.RequiredAcks = sarama.WaitForAll
		cfg.Producer.Transaction.Retry.Max = 1
		p, err := sarama.NewSyncProducer([]string{addr}, cfg)
		if !errors.Is(err, sarama.ErrTransactionalIDAuthorizationFailed) {
			t.Errorf("producer: %v", err)
		}
		if err == nil {
			_ = p.Close()
		}
	})
}

// TestACLsDisabled checks that clients get SECURITY_DISABLED at once, as of Kafka without an authorizer.
func TestACLsDisabled(t *testing.T) {
	addr := startBroker(t)
	ctx, cancel := context.WithTimeout(t.Context(), missingWait)
	defer cancel()
	b := kadm.NewACLs().Topics("orders").Allow("User:a").AllowHosts("*").Operations(kadm.OpRead).ResourcePatternType(kadm.ACLPatternLiteral)
	err := franz{addr: addr}.admin(func(a *kadm.Client) error {
		described, err := a.DescribeACLs(ctx, b)
		if err != nil {
			return err
		}
		created, err := a.CreateACLs(ctx, b)
		if err != nil {
			return err
		}
		deleted, err := a.DeleteACLs(ctx, b)
		if err != nil {
			return err
		}
		if len(described) == 0 || len(created) == 0 || len(deleted) == 0 {
			t.Fatalf("%d described, %d created, %d deleted", len(described), len(created), len(deleted))
		}
		for _, err := range []error{described[0].Err, created[0].Err, deleted[0].Err} {
			if !errors.Is(err, kerr.SecurityDisabled) {
				t.Errorf("franz-go: %v", err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	// confluent-kafka-go drops the error of DescribeACLs, of Kafka's answer too.
	err = librdkafka{addr}.admin(func(a *kafka.AdminClient) error {
		r, err := a.CreateACLs(ctx, kafka.ACLBindings{{
			Type: kafka.ResourceTopic, Name: "orders", ResourcePatternType: kafka.ResourcePatternTypeLiteral,
			Principal: "User:a", Host: "*", Operation: kafka.ACLOperationRead, PermissionType: kafka.ACLPermissionTypeAllow,
		}})
		if err == nil && r[0].Error.Code() != kafka.ErrSecurityDisabled {
			t.Errorf("librdkafka: %v", r[0].Error)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
