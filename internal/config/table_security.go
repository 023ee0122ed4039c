package config

import "strings"

// refused is the limit of a setting that would protect the broker if it were carried out.
func refused(why string) check {
	return check{"unset: " + why, func(text string) bool { return text == "" }}
}

// securitySettings are known so that a file with TLS material loads, and a typo among them is seen. A listener that asks
// for them is refused: see Listeners.
func securitySettings() []Setting {
	rows := []Setting{
		{
			Name: "authorizer.class.name", Type: String, Default: "", Security: true, Check: refused(later("access control lists")),
			Doc: "The Java class that decides who may do what.",
		},
		{
			Name: "security.inter.broker.protocol", Type: String, Default: "PLAINTEXT", Security: true, Check: oneOf("PLAINTEXT"),
			Doc: "The security protocol that brokers use among themselves.",
		},
		{
			Name: "super.users", Type: String, Null: true, Security: true, Check: refused(later("access control lists")),
			Doc: "Who may do everything.",
		},
	}
	for name := range strings.FieldsSeq(securityNames) {
		t := String
		if strings.HasSuffix(name, "password") || strings.HasSuffix(name, ".key") || strings.HasSuffix(name, "jaas.config") ||
			strings.Contains(name, "secret") || strings.HasSuffix(name, "certificate.chain") || strings.HasSuffix(name, "truststore.certificates") {
			t = Password
		}
		rows = append(rows, Setting{
			Name: name, Type: t, Null: true, Security: true,
			Ignored: later("TLS or SASL"), Doc: "A setting of Kafka's TLS, SASL or access control.",
		})
	}
	return rows
}

const securityNames = `
allow.everyone.if.no.acl.found connections.max.reauth.ms delegation.token.expiry.check.interval.ms
delegation.token.expiry.time.ms delegation.token.master.key delegation.token.max.lifetime.ms delegation.token.secret.key
password.encoder.cipher.algorithm password.encoder.iterations password.encoder.key.length
password.encoder.keyfactory.algorithm password.encoder.old.secret password.encoder.secret principal.builder.class
sasl.client.callback.handler.class sasl.enabled.mechanisms sasl.jaas.config sasl.kerberos.kinit.cmd
sasl.kerberos.min.time.before.relogin sasl.kerberos.principal.to.local.rules sasl.kerberos.service.name
sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor sasl.login.callback.handler.class
sasl.login.class sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds
sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor sasl.login.refresh.window.jitter
sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms sasl.mechanism sasl.mechanism.controller.protocol
sasl.mechanism.inter.broker.protocol sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience
sasl.oauthbearer.expected.issuer sasl.oauthbearer.header.urlencode sasl.oauthbearer.jwks.endpoint.refresh.ms
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.ms
sasl.oauthbearer.jwks.endpoint.url sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name
sasl.oauthbearer.token.endpoint.url sasl.server.callback.handler.class sasl.server.max.receive.size
security.providers ssl.allow.dn.changes ssl.allow.san.changes ssl.cipher.suites ssl.client.auth
ssl.enabled.protocols ssl.endpoint.identification.algorithm ssl.engine.factory.class ssl.key.credentials
ssl.key.password ssl.keymanager.algorithm ssl.keystore.certificate.chain ssl.keystore.credentials
ssl.keystore.filename ssl.keystore.key ssl.keystore.location ssl.keystore.password ssl.keystore.type
ssl.principal.mapping.rules ssl.protocol ssl.provider ssl.secure.random.implementation ssl.trustmanager.algorithm
ssl.truststore.certificates ssl.truststore.credentials ssl.truststore.filename ssl.truststore.location
ssl.truststore.password ssl.truststore.type`

// securityPrefixes mark a key as a security setting though it is in no table.
var securityPrefixes = []string{
	"ssl.", "sasl.", "security.", "authorizer.", "listener.security.", "listener.name.",
	"inter.broker.listener.", "delegation.token.", "password.encoder.", "principal.",
}
