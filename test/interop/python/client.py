"""What kafka-python 2.0.2 does with one topic: `client.py ADDRESS read TOPIC COUNT` prints its records, a line
`offset key value` for each; `client.py ADDRESS write TOPIC CODEC COUNT` sends some in one batch."""

import sys

try:
    import kafka
except ModuleNotFoundError:
    # Its copy of six is too old for the import machinery of Python 3.12 and later; a newer six is the same.
    import six

    sys.modules["kafka.vendor.six"] = six
    sys.modules["kafka.vendor.six.moves"] = six.moves
    for name in [m for m in sys.modules if m == "kafka" or m.startswith("kafka.") and not m.startswith("kafka.vendor")]:
        del sys.modules[name]
    import kafka


def read(address, topic, count):
    consumer = kafka.KafkaConsumer(bootstrap_servers=address, group_id=None, auto_offset_reset="earliest", consumer_timeout_ms=20000)
    partition = kafka.TopicPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    got = 0
    for record in consumer:  # ends when nothing came for 20 s
        print(record.offset, record.key.decode(), record.value.decode())
        got += 1
        if got == int(count):
            break
    consumer.close()


def write(address, topic, codec, count):
    producer = kafka.KafkaProducer(bootstrap_servers=address, compression_type=codec, linger_ms=1000, acks="all")
    sent = [producer.send(topic, key=b"key-%d" % i, value=b"value-%d-%s" % (i, b"abc" * 50), partition=0) for i in range(int(count))]
    producer.flush(20)
    for future in sent:
        future.get(20)
    producer.close()


if __name__ == "__main__":
    if sys.argv[1:] == ["version"]:
        import zstandard  # kafka-python reads zstd with it, if it is there

        print(kafka.__version__)
    else:
        {"read": read, "write": write}[sys.argv[2]](sys.argv[1], *sys.argv[3:])
