package config

// refused is the limit of a setting that would protect the broker if it were carried out.
func refused(why string) check {
	return check{"unset: " + why, func(text string) bool { return text == "" }}
}

const noSecurity = "this version has no TLS or SASL"

// securitySettings are known so that a file with TLS material loads, and a typo among them is seen. A listener that asks
// for them is refused: see Listeners.
func securitySettings() []Setting {
	all := []Setting{
		{
			Name: "authorizer.class.name", Type: String, Default: "", Security: true, Check: refused(later("access control lists")),
			Doc: "The Java class that decides who may do what.",
		},
		{
			Name: "security.inter.broker.protocol", Type: String, Default: "PLAINTEXT", Security: true, Check: oneOf("PLAINTEXT"),
			Doc: "The security protocol that brokers use among themselves.",
		},
		{
			Name: "super.users", Type: String, Null: true, Hidden: true, Security: true, Check: refused(later("access control lists")),
			Doc: "Who may do everything.",
		},
	}
	for _, s := range rows(noSecurity, securityRows) {
		s.Security = true
		all = append(all, s)
	}
	return all
}

const securityRows = `
	allow.everyone.if.no.acl.found                      boolean,hidden  -        any      Whether what has no access control list is open to all.
	connections.max.reauth.ms                           long            0        any      How long an authentication lasts.
	delegation.token.expiry.check.interval.ms           long            3600000  1..      How often old delegation tokens are looked for.
	delegation.token.expiry.time.ms                     long            86400000 1..      How long a delegation token lasts without renewal.
	delegation.token.master.key                         password,hidden -        any      The older name of delegation.token.secret.key.
	delegation.token.max.lifetime.ms                    long            604800000 1..      How long a delegation token lasts at most.
	delegation.token.secret.key                         password        -        any      The key that delegation tokens are signed with.
	password.encoder.cipher.algorithm                   string,hidden   AES/CBC/PKCS5Padding any      The cipher for passwords in ZooKeeper.
	password.encoder.iterations                         int,hidden      4096     1024..   Iterations of the key for passwords in ZooKeeper.
	password.encoder.key.length                         int,hidden      128      8..      The length of that key.
	password.encoder.keyfactory.algorithm               string,hidden   -        any      How that key is made.
	password.encoder.old.secret                         password,hidden -        any      The secret that passwords in ZooKeeper were encrypted with before.
	password.encoder.secret                             password,hidden -        any      The secret that passwords in ZooKeeper are encrypted with.
	principal.builder.class                             class           org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder any      The Java class that names the user of a connection.
	sasl.client.callback.handler.class                  class           -        any      The Java class that answers for a client of SASL.
	sasl.enabled.mechanisms                             list            GSSAPI   any      The SASL mechanisms that clients may use.
	sasl.jaas.config                                    password        -        any      The JAAS configuration of SASL.
	sasl.kerberos.kinit.cmd                             string          /usr/bin/kinit any      Where kinit is.
	sasl.kerberos.min.time.before.relogin               long            60000    any      The pause between two Kerberos logins.
	sasl.kerberos.principal.to.local.rules              list            DEFAULT  any      How Kerberos principals become user names.
	sasl.kerberos.service.name                          string          -        any      The Kerberos service of the brokers.
	sasl.kerberos.ticket.renew.jitter                   double          0.05     any      By how much the renewal of a Kerberos ticket varies.
	sasl.kerberos.ticket.renew.window.factor            double          0.8      any      How old a Kerberos ticket grows before it is renewed.
	sasl.login.callback.handler.class                   class           -        any      The Java class that answers for a login.
	sasl.login.class                                    class           -        any      The Java class that logs in.
	sasl.login.connect.timeout.ms                       int             -        any      How long connecting to an identity provider may take.
	sasl.login.read.timeout.ms                          int             -        any      How long an identity provider may take to answer.
	sasl.login.refresh.buffer.seconds                   short           300      any      How long before its end a token is refreshed.
	sasl.login.refresh.min.period.seconds               short           60       any      The pause between two refreshes of a token.
	sasl.login.refresh.window.factor                    double          0.8      any      How old a token grows before it is refreshed.
	sasl.login.refresh.window.jitter                    double          0.05     any      By how much the refresh of a token varies.
	sasl.login.retry.backoff.max.ms                     long            10000    any      The most that sasl.login.retry.backoff.ms grows to.
	sasl.login.retry.backoff.ms                         long            100      any      The pause after a login failed.
	sasl.mechanism                                      string,hidden   -        any      The SASL mechanism of a client.
	sasl.mechanism.controller.protocol                  string          GSSAPI   any      The SASL mechanism towards controllers.
	sasl.mechanism.inter.broker.protocol                string          GSSAPI   any      The SASL mechanism towards brokers.
	sasl.oauthbearer.allow.unverified.audience          boolean         false    any      Whether tokens for any audience are taken.
	sasl.oauthbearer.allow.unverified.issuer            boolean         false    any      Whether tokens of any issuer are taken.
	sasl.oauthbearer.assertion.algorithm                string          RS256    ES256|RS256 How assertions are signed.
	sasl.oauthbearer.assertion.claim.aud                string          -        any      The audience in assertions.
	sasl.oauthbearer.assertion.claim.exp.seconds        int             300      0..86400 How long assertions last.
	sasl.oauthbearer.assertion.claim.iss                string          -        any      The issuer in assertions.
	sasl.oauthbearer.assertion.claim.jti.include        boolean         false    any      Whether assertions have an id.
	sasl.oauthbearer.assertion.claim.nbf.seconds        int             60       0..3600  How long before now assertions begin.
	sasl.oauthbearer.assertion.claim.sub                string          -        any      The subject in assertions.
	sasl.oauthbearer.assertion.file                     string          -        any      A file with an assertion.
	sasl.oauthbearer.assertion.private.key.file         string          -        any      A file with the key that signs assertions.
	sasl.oauthbearer.assertion.private.key.passphrase   password        -        any      The passphrase of that key.
	sasl.oauthbearer.assertion.template.file            string          -        any      A file with what assertions begin as.
	sasl.oauthbearer.client.credentials.client.id       string          -        any      The client's id at the identity provider.
	sasl.oauthbearer.client.credentials.client.secret   password        -        any      The client's secret at the identity provider.
	sasl.oauthbearer.clock.skew.seconds                 int             30       any      How far the identity provider's clock may be off.
	sasl.oauthbearer.expected.audience                  list            ""       any      The audiences that tokens must be for.
	sasl.oauthbearer.expected.issuer                    string          -        any      The issuer that tokens must be of.
	sasl.oauthbearer.header.urlencode                   boolean,hidden  -        any      Whether the client's id and secret are encoded as in a URL.
	sasl.oauthbearer.jwks.endpoint.refresh.ms           long            3600000  any      How often the identity provider's keys are read again.
	sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms long            10000    any      The most that the pause below grows to.
	sasl.oauthbearer.jwks.endpoint.retry.backoff.ms     long            100      any      The pause after reading those keys failed.
	sasl.oauthbearer.jwks.endpoint.url                  string          -        any      Where those keys are.
	sasl.oauthbearer.jwt.retriever.class                class           org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever any      The Java class that fetches tokens.
	sasl.oauthbearer.jwt.validator.class                class           org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator any      The Java class that verifies tokens.
	sasl.oauthbearer.scope                              string          -        any      The scope that tokens are asked for.
	sasl.oauthbearer.scope.claim.name                   string          scope    any      The claim that holds a token's scope.
	sasl.oauthbearer.sub.claim.name                     string          sub      any      The claim that holds a token's user.
	sasl.oauthbearer.token.endpoint.url                 string          -        any      Where tokens are.
	sasl.server.callback.handler.class                  class           -        any      The Java class that answers for a server of SASL.
	sasl.server.max.receive.size                        int             524288   any      The largest message of an authentication.
	security.providers                                  string          -        any      Java classes that provide algorithms.
	ssl.allow.dn.changes                                boolean         false    any      Whether a new certificate may have another name.
	ssl.allow.san.changes                               boolean         false    any      Whether a new certificate may have other alternative names.
	ssl.cipher.suites                                   list            ""       any      The cipher suites of TLS.
	ssl.client.auth                                     string          none     required|requested|none Whether clients must have a certificate.
	ssl.enabled.protocols                               list            TLSv1.2,TLSv1.3 any      The versions of TLS.
	ssl.endpoint.identification.algorithm               string          https    any      How host names are verified.
	ssl.engine.factory.class                            class           -        any      The Java class that makes TLS engines.
	ssl.key.credentials                                 string,hidden   -        any      A file with the password of the key, for Kafka's container image.
	ssl.key.password                                    password        -        any      The password of the key.
	ssl.keymanager.algorithm                            string          SunX509  any      The algorithm of the key manager.
	ssl.keystore.certificate.chain                      password        -        any      The certificate, in PEM.
	ssl.keystore.credentials                            string,hidden   -        any      A file with the password of the key store, for Kafka's container image.
	ssl.keystore.filename                               string,hidden   -        any      The name of the key store, for Kafka's container image.
	ssl.keystore.key                                    password        -        any      The key, in PEM.
	ssl.keystore.location                               string          -        any      The key store.
	ssl.keystore.password                               password        -        any      The password of the key store.
	ssl.keystore.type                                   string          JKS      any      The type of the key store.
	ssl.principal.mapping.rules                         string          DEFAULT  any      How names in certificates become user names.
	ssl.protocol                                        string          TLSv1.3  any      The version of TLS that contexts are made for.
	ssl.provider                                        string          -        any      The Java provider of TLS.
	ssl.secure.random.implementation                    string          -        any      The Java source of random numbers.
	ssl.trustmanager.algorithm                          string          PKIX     any      The algorithm of the trust manager.
	ssl.truststore.certificates                         password        -        any      The trusted certificates, in PEM.
	ssl.truststore.credentials                          string,hidden   -        any      A file with the password of the trust store, for Kafka's container image.
	ssl.truststore.filename                             string,hidden   -        any      The name of the trust store, for Kafka's container image.
	ssl.truststore.location                             string          -        any      The trust store.
	ssl.truststore.password                             password        -        any      The password of the trust store.
	ssl.truststore.type                                 string          JKS      any      The type of the trust store.`

// securityPrefixes mark a key as a security setting though it is in no table.
var securityPrefixes = []string{
	"ssl.", "sasl.", "security.", "authorizer.", "listener.security.", "listener.name.",
	"inter.broker.listener.", "delegation.token.", "password.encoder.", "principal.",
}
