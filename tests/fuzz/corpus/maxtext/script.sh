#!/bin/bash
python3 -m MaxText.train base.yml model_name=llama2-7b per_device_batch_size=2
